// Package deps keeps dependencies alive until their users are written.
package deps

import (
	_ "github.com/ThreeDotsLabs/watermill-redisstream/pkg/redisstream"
	_ "github.com/ThreeDotsLabs/watermill/message/router/middleware"
	_ "github.com/ThreeDotsLabs/watermill/pubsub/gochannel"
	_ "github.com/jackc/pgx/v5"
	_ "github.com/jackc/pgx/v5/pgxpool"
	_ "github.com/redis/go-redis/v9"
	_ "github.com/tidwall/gjson"
	_ "go.uber.org/goleak"
)
