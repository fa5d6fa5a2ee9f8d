// Package report holds the figures of one crash test run and the tables made
// of them.
package report

// Run is one run of one strategy, as crashtest prints it with -json.
//
// Seconds count from the moment the first message was published.
type Run struct {
	Strategy string `json:"strategy"`
	// Crash says that one consumer process was killed.
	Crash bool `json:"crash"`
	// KillAt is the point where the process killed itself; empty when it was
	// killed from outside.
	KillAt string `json:"kill_at,omitempty"`
	Run    int    `json:"run"`
	Jobs   int    `json:"jobs"`

	// Done is the number of jobs with at least one effect.
	Done int `json:"done"`
	// Duplicates is the number of effects beyond the first of each job.
	Duplicates int `json:"duplicates"`
	// Explained is how many of the duplicates are the price of the crash: the
	// killed process had the first effect, and never saw its marker recorded.
	Explained int `json:"explained"`
	// Missing is the number of jobs without any effect.
	Missing int `json:"missing"`
	// Pending is the number of messages that were read and never acknowledged.
	Pending int `json:"pending"`
	// Delivered counts messages that entered the handler chain, redeliveries
	// included.
	Delivered int `json:"delivered"`
	// Absorbed counts repeated calls that the effect's service recognised by
	// their idempotency key.
	Absorbed int `json:"absorbed"`

	// EffectsSeconds is the time of the last effect.
	EffectsSeconds float64 `json:"effects_seconds"`
	// DrainedSeconds is when everything was read and acknowledged; -1 if that
	// never happened.
	DrainedSeconds float64 `json:"drained_seconds"`
	// KilledSeconds is when the process was killed; 0 without a crash.
	KilledSeconds float64 `json:"killed_seconds"`
	// DeadLeasesSeconds is when the last claim of the killed process ran out;
	// 0 if it held none.
	DeadLeasesSeconds float64 `json:"dead_leases_seconds"`

	// StoreCalls counts the client's calls to the deduplication store.
	StoreCalls int `json:"store_calls"`
	// RedisCommands counts what the stream's server executed, commands inside
	// scripts included and the harness's own polling excluded.
	RedisCommands int `json:"redis_commands"`
	// Outcomes counts the outcomes that the middleware reported.
	Outcomes map[string]int `json:"outcomes"`

	// Broken lists the promises that did not hold.
	Broken []string `json:"broken,omitempty"`
}
