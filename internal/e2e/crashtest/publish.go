package main

import (
	"context"
	"strconv"

	"github.com/ThreeDotsLabs/watermill"
	"github.com/ThreeDotsLabs/watermill-redisstream/pkg/redisstream"
	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/redis/go-redis/v9"
)

// schedule returns the job numbers, from 1, in the order of publishing: blocks
// of apart jobs, each block repeated, so that two copies of a job are apart
// messages apart.
func schedule(jobs, copies, apart int) []int {
	order := make([]int, 0, jobs*copies)
	for first := 1; first <= jobs; first += apart {
		for range copies {
			for job := first; job < min(first+apart, jobs+1); job++ {
				order = append(order, job)
			}
		}
	}
	return order
}

// publish sends all messages in the form of watermill-redisstream's publisher,
// but in pipelines: one by one, publishing would take longer than the work. It
// returns the id of the last entry.
func publish(ctx context.Context, client *redis.Client, stream string, s settings) (last string, err error) {
	const batch = 500
	order := schedule(s.Jobs, s.Copies, s.Apart)
	for len(order) > 0 {
		n := min(batch, len(order))
		pipe := client.Pipeline()
		for _, job := range order[:n] {
			id := strconv.Itoa(job)
			msg := message.NewMessage(watermill.NewUUID(), []byte(`{"job_id":`+id+`}`))
			msg.Metadata.Set(jobField, id)
			values, err := redisstream.DefaultMarshallerUnmarshaller{}.Marshal(stream, msg)
			if err != nil {
				return "", err
			}
			pipe.XAdd(ctx, &redis.XAddArgs{Stream: stream, Values: values})
		}
		cmds, err := pipe.Exec(ctx)
		if err != nil {
			return "", err
		}
		last = cmds[len(cmds)-1].(*redis.StringCmd).Val()
		order = order[n:]
	}
	return last, nil
}
