package memstore_test

import (
	"context"
	"fmt"
	"time"

	"github.com/watermill-dedup/watermill-dedup/store"
	"github.com/watermill-dedup/watermill-dedup/store/memstore"
)

func Example() {
	s, err := memstore.New("billing", memstore.Config{})
	if err != nil {
		panic(err)
	}

	ctx := context.Background()
	key := store.Key{Scope: "send-invoice", ID: "order-17"}

	first, _ := s.Claim(ctx, key, "token of the first copy", 30*time.Second)
	second, _ := s.Claim(ctx, key, "token of the second copy", 30*time.Second)
	fmt.Println(first.State, second.State)

	_, _ = s.Complete(ctx, key, "token of the first copy", 24*time.Hour)
	second, _ = s.Claim(ctx, key, "token of the second copy", 30*time.Second)
	fmt.Println(second.State)

	// Output:
	// acquired held
	// done
}
