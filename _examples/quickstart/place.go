package main

import (
	"github.com/ThreeDotsLabs/watermill"
	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/ThreeDotsLabs/watermill/pubsub/gochannel"

	"github.com/watermill-dedup/watermill-dedup/store"
	"github.com/watermill-dedup/watermill-dedup/store/memstore"
)

// place is where one run's messages and claims live.
type place struct {
	topic     string
	publisher message.Publisher
	replicas  []replica
	// close ends what the replicas' routers do not close themselves, and removes
	// what the run left on a server. The routers must be closed before.
	close func() error
}

// replica is what one replica of the service needs.
type replica struct {
	subscriber message.Subscriber
	store      store.Store
}

// inMemory needs no server. A gochannel gives every message to each of its
// subscribers, so there is one replica, with one subscription: it has any
// number of messages in flight.
func inMemory() (*place, error) {
	pubSub := gochannel.NewGoChannel(gochannel.Config{}, watermill.NopLogger{})
	s, err := memstore.New("quickstart", memstore.Config{})
	if err != nil {
		return nil, err
	}
	return &place{
		topic:     "jobs",
		publisher: pubSub,
		replicas:  []replica{{pubSub, s}},
		close:     pubSub.Close,
	}, nil
}
