package dedup_test

import (
	"context"
	"errors"

	"github.com/ThreeDotsLabs/watermill"
	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/ThreeDotsLabs/watermill/pubsub/gochannel"

	"github.com/watermill-dedup/watermill-dedup/middleware/dedup"
)

// service is what the examples share: a router and a Pub/Sub in memory.
type service struct {
	router *message.Router
	// pubSub blocks Publish until the message is acked, which makes the order
	// of events certain.
	pubSub *gochannel.GoChannel
}

func newService() service {
	router, err := message.NewRouter(message.RouterConfig{}, watermill.NopLogger{})
	if err != nil {
		panic(err)
	}
	return service{router, gochannel.NewGoChannel(gochannel.Config{BlockPublishUntilSubscriberAck: true}, nil)}
}

// run starts the router, calls f, and closes everything in the right order.
func (s service) run(d *dedup.Dedup, f func()) {
	ctx := context.Background()
	ran := make(chan error, 1)
	go func() { ran <- s.router.Run(ctx) }()
	<-s.router.Running()
	f()
	if err := errors.Join(s.router.Close(), d.Close(ctx), <-ran, s.pubSub.Close()); err != nil {
		panic(err)
	}
}

// send publishes a message with a new UUID, as every producer does.
func (s service) send(topic, field, value string) {
	msg := message.NewMessage(watermill.NewUUID(), nil)
	msg.Metadata.Set(field, value)
	s.publish(topic, msg)
}

func (s service) publish(topic string, msg *message.Message) {
	if err := s.pubSub.Publish(topic, msg); err != nil {
		panic(err)
	}
}
