// Package dedup is a Watermill middleware that lets each job take effect once,
// however often and to however many replicas its message is delivered.
//
// A business key is extracted from the message and claimed in a shared store
// before the handler runs. A copy whose claim is held elsewhere waits, and is
// then nacked, never acked; a job that is done is remembered for a retention.
//
// Leased never loses a job and is the mode for most effects, AtMostOnce never
// repeats one, and Observe changes nothing and counts duplicates.
//
//	d, err := dedup.Leased(st, keyextract.Metadata("order_id"), dedup.Config{
//		Retention: 7 * 24 * time.Hour,
//	}, logger)
//	if err != nil {
//		return err
//	}
//	router.AddPlugin(dedup.WakeOnClose)
//	router.AddMiddleware(d.Middleware)
//
// The middleware's place in the chain is between PoisonQueue and Limit:
// Recoverer, PoisonQueue, dedup, Limit, Retry, Timeout, handler.
package dedup
