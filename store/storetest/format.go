package storetest

import "github.com/watermill-dedup/watermill-dedup/store"

var formatCases = []testCase{
	{
		name:  "NewerDone",
		rule:  "A done marker written by a newer version is done, and stays as it is.",
		needs: writeNewer,
		check: func(p *probe) {
			p.writeNewer(job, store.Done)
			p.claim(job, "a", minute, store.Done)
			p.renew(job, "a", minute, store.Done)
			p.release(job, "a", store.Done)
			p.complete(job, "a", p.unit, store.Done)
			p.wait(p.unit)
			p.claim(job, "b", minute, store.Done)
		},
	},
	{
		name:  "NewerClaim",
		rule:  "A claim that this version cannot read is held: its owner may be at work.",
		needs: writeNewer,
		check: func(p *probe) {
			p.writeNewer(job, store.Held)
			p.claim(job, "a", minute, store.Held)
			p.renew(job, "a", minute, store.Held)
			p.release(job, "a", store.Held)
			p.claim(job, "b", minute, store.Held)
		},
	},
	{
		name:  "CompleteNewerClaim",
		rule:  "Complete over a claim that this version cannot read answers held and records done.",
		needs: writeNewer,
		check: func(p *probe) {
			p.writeNewer(job, store.Held)
			p.complete(job, "a", minute, store.Held)
			p.claim(job, "b", minute, store.Done)
		},
	},
}

func (p *probe) writeNewer(key store.Key, state store.State) {
	if p.err != nil {
		return
	}
	if err := p.WriteNewer(p.ctx, key, state); err != nil {
		p.failf("Harness.WriteNewer failed: %v", err)
	}
	p.calls = append(p.calls, "WriteNewer("+state.String()+")")
}
