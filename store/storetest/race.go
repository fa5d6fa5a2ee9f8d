package storetest

import (
	"fmt"
	"runtime"
	"sync/atomic"
	"time"

	"github.com/watermill-dedup/watermill-dedup/store"
)

const (
	// racers call at once.
	racers = 64
	// rounds repeat a race, because one of them can go well by luck.
	rounds = 16
)

var raceCases = []testCase{
	{
		name: "RaceClaim",
		rule: "Of many claims of one free key, exactly one answers acquired and the others held.",
		check: func(p *probe) {
			for i := range rounds {
				p.raceForClaim(roundKey(i))
			}
		},
	},
	{
		name: "RaceTakeover",
		rule: "Of many claims of one key whose lease has passed, exactly one answers acquired and the others held.",
		check: func(p *probe) {
			for i := range rounds {
				p.claim(roundKey(i), "dead", p.unit, store.Acquired)
			}
			p.wait(p.unit)
			for i := range rounds {
				p.raceForClaim(roundKey(i))
			}
		},
	},
	{
		name: "RaceSameToken",
		rule: "Many claims with one token, as a resending client makes them, all answer acquired.",
		check: func(p *probe) {
			for i := range rounds {
				states := p.race(racers, func(int) (store.State, error) {
					return p.claimState(roundKey(i), "a", minute)
				})
				if n := count(states, store.Acquired); n != len(states) {
					p.failf("%d of %d claims with the owner's token answered acquired, want all", n, len(states))
				}
			}
		},
	},
	{
		name: "RaceComplete",
		rule: "Of many Completes of one key, exactly one finds what was there before and the others find done.",
		check: func(p *probe) {
			for i := range rounds {
				p.claim(roundKey(i), "0", minute, store.Acquired)
				states := p.race(racers, func(n int) (store.State, error) {
					return p.Store.Complete(p.ctx, roundKey(i), fmt.Sprint(n), minute)
				})
				if n := count(states, store.Done); p.err == nil && n != racers-1 {
					p.failf("%d of %d Completes found done, want %d", n, racers, racers-1)
				}
			}
		},
	},
	{
		name: "RaceRelease",
		rule: "Of many Releases by one owner, exactly one answers acquired and the others free.",
		check: func(p *probe) {
			for i := range rounds {
				p.claim(roundKey(i), "a", minute, store.Acquired)
				states := p.race(racers, func(int) (store.State, error) {
					return p.Store.Release(p.ctx, roundKey(i), "a")
				})
				if a, f := count(states, store.Acquired), count(states, store.Free); p.err == nil && (a != 1 || f != racers-1) {
					p.failf("%d of %d Releases answered acquired and %d free, want 1 and %d", a, racers, f, racers-1)
				}
			}
		},
	},
	{
		name: "RaceTakeoverCompletion",
		rule: "When a takeover meets the old owner's late Complete, the key ends as done and both answers fit one order.",
		check: func(p *probe) {
			for i := range racers {
				p.claim(roundKey(i), "old", p.unit, store.Acquired)
			}
			p.wait(p.unit)
			for i := range racers {
				key := roundKey(i)
				states := p.race(2, func(n int) (store.State, error) {
					if n == 0 {
						return p.Store.Complete(p.ctx, key, "old", minute)
					}
					return p.claimState(key, "new", minute)
				})
				p.oneOrder(states, "the late Complete", "the takeover", [][2]store.State{
					{store.Free, store.Done}, {store.Held, store.Acquired},
				})
				p.stays(key, store.Done)
			}
		},
	},
	{
		name: "RaceReleaseCompletion",
		rule: "When the new owner's Release meets the old owner's late Complete, the key ends as done and both answers fit one order.",
		check: func(p *probe) {
			for i := range racers {
				key := roundKey(i)
				p.claim(key, "new", minute, store.Acquired)
				states := p.race(2, func(n int) (store.State, error) {
					if n == 0 {
						return p.Store.Complete(p.ctx, key, "old", minute)
					}
					return p.Store.Release(p.ctx, key, "new")
				})
				p.oneOrder(states, "the late Complete", "the Release", [][2]store.State{
					{store.Held, store.Done}, {store.Free, store.Acquired},
				})
				p.stays(key, store.Done)
			}
		},
	},
	{
		name: "RaceRenewal",
		rule: "At the end of a lease either the owner's Renew or another's claim answers acquired, never both.",
		check: func(p *probe) {
			// The leases end one after the other. About each end one claim is
			// sent after the other, and one Renew somewhere among them.
			const step, pause = 3 * time.Millisecond, 100 * time.Microsecond
			var ends [racers]time.Duration
			for i := range racers {
				lease := p.unit + time.Duration(i)*step
				ends[i] = p.now() + lease
				p.claim(roundKey(i), "old", lease, store.Acquired)
			}
			for i := range racers {
				key := roundKey(i)
				p.waitUntil(ends[i] - step/3)
				states := p.race(2, func(n int) (store.State, error) {
					if n == 0 {
						spin(time.Duration(i%16) * pause)
						return p.Store.Renew(p.ctx, key, "old", minute)
					}
					for range 16 {
						if p.Advance != nil {
							p.Advance(pause)
							p.advanced += pause
						}
						state, err := p.claimState(key, "new", minute)
						if err != nil || state == store.Acquired {
							return state, err
						}
						spin(pause)
					}
					return store.Held, nil
				})
				p.oneOrder(states, "the old owner's Renew", "the claim", [][2]store.State{
					{store.Acquired, store.Held}, {store.Free, store.Acquired}, {store.Held, store.Acquired},
					// The last claim came before the end, the renewal after it.
					{store.Free, store.Held},
				})
			}
		},
	},
	{
		name: "MutualExclusion",
		rule: "Between a claim that answers acquired and its Release, no other claim answers acquired.",
		check: func(p *probe) {
			var inside, overlaps atomic.Int32
			p.race(16, func(n int) (store.State, error) {
				token := fmt.Sprint(n)
				for range 25 {
					state, err := p.claimState(job, token, minute)
					if err != nil {
						return 0, err
					}
					if state != store.Acquired {
						continue
					}
					first := inside.Add(1) == 1
					spin(50 * time.Microsecond)
					state, err = p.Store.Renew(p.ctx, job, token, minute)
					if err != nil {
						return 0, err
					}
					if !first || state != store.Acquired {
						overlaps.Add(1)
					}
					inside.Add(-1)
					if _, err := p.Store.Release(p.ctx, job, token); err != nil {
						return 0, err
					}
				}
				return store.Free, nil
			})
			if n := overlaps.Load(); n > 0 {
				p.failf("%d times two owners had the key at once", n)
			}
			p.stays(job, store.Free)
		},
	},
}

// spin waits for less than a timer can.
func spin(d time.Duration) {
	for start := time.Now(); time.Since(start) < d; {
		runtime.Gosched()
	}
}

func roundKey(i int) store.Key {
	return store.Key{Scope: "race", ID: fmt.Sprint(i)}
}

// raceForClaim has many tokens claim a key that is free for exactly one.
func (p *probe) raceForClaim(key store.Key) {
	states := p.race(racers, func(i int) (store.State, error) {
		return p.claimState(key, fmt.Sprint(i), minute)
	})
	if a, h := count(states, store.Acquired), count(states, store.Held); p.err == nil && (a != 1 || h != racers-1) {
		p.failf("%d of %d claims answered acquired and %d held, want 1 and %d", a, racers, h, racers-1)
	}
}

// oneOrder checks that the answers of two calls are those of one of the orders
// in which they can have happened.
func (p *probe) oneOrder(states []store.State, first, second string, orders [][2]store.State) {
	if p.err != nil {
		return
	}
	for _, o := range orders {
		if states[0] == o[0] && states[1] == o[1] {
			return
		}
	}
	p.failf("%s answered %s and %s answered %s, which fits no order of the two", first, states[0], second, states[1])
}
