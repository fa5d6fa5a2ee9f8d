// Package behaviour_test holds the middleware to its rules from the outside: a
// real router, over gochannel with memstore and over Redis Streams with
// redisstore. Each test is named for the rule it checks.
//
// Time is real. A synctest bubble cannot hold a router: its Close keeps a
// mutex while it waits for handlers, which a bubble takes for work, so time
// would stand still.
package behaviour_test
