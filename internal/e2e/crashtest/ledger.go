package main

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// ledger is the table of effects, in a schema of this program's own. What it
// says about who did what, and when, is believed.
type ledger struct {
	pool   *pgxpool.Pool
	schema string
}

// effect is a row of the ledger.
type effect struct {
	job      string
	consumer string
}

const schemaSQL = `
CREATE SCHEMA %[1]s;
CREATE UNLOGGED TABLE %[1]s.effects (
	run      text NOT NULL,
	job_id   text NOT NULL,
	consumer text NOT NULL,
	attempt  uuid NOT NULL,
	at       timestamptz NOT NULL DEFAULT clock_timestamp()
);
CREATE UNLOGGED TABLE %[1]s.idempotency_keys (
	run text NOT NULL,
	key text NOT NULL,
	PRIMARY KEY (run, key)
);`

// openLedger connects with conns connections, all of which it opens at once so
// that no handler waits for one later.
func openLedger(ctx context.Context, dsn, schema string, conns int) (*ledger, error) {
	cfg, err := pgxpool.ParseConfig(dsn)
	if err != nil {
		return nil, err
	}
	cfg.MaxConns = int32(conns)
	// The experiment kills consumers, never the database.
	cfg.ConnConfig.RuntimeParams["synchronous_commit"] = "off"
	pool, err := pgxpool.NewWithConfig(ctx, cfg)
	if err != nil {
		return nil, err
	}
	held := make([]*pgxpool.Conn, 0, conns)
	for range conns {
		conn, acquireErr := pool.Acquire(ctx)
		if acquireErr != nil {
			err = fmt.Errorf("could not connect to Postgres: %w", acquireErr)
			break
		}
		held = append(held, conn)
	}
	for _, conn := range held {
		conn.Release()
	}
	if err != nil {
		pool.Close()
		return nil, err
	}
	return &ledger{pool, schema}, nil
}

func (l *ledger) create(ctx context.Context) error {
	_, err := l.pool.Exec(ctx, fmt.Sprintf(schemaSQL, l.schema))
	return err
}

func (l *ledger) drop(ctx context.Context) error {
	_, err := l.pool.Exec(ctx, "DROP SCHEMA "+l.schema+" CASCADE")
	return err
}

// record adds an effect.
func (l *ledger) record(ctx context.Context, run, job, consumer, attempt string) error {
	_, err := l.pool.Exec(ctx, "INSERT INTO "+l.schema+".effects (run, job_id, consumer, attempt) VALUES ($1, $2, $3, $4)",
		run, job, consumer, attempt)
	return err
}

// recordOnce adds an effect unless the key was used before in this run.
func (l *ledger) recordOnce(ctx context.Context, key, run, job, consumer, attempt string) (fresh bool, err error) {
	tag, err := l.pool.Exec(ctx, "WITH fresh AS ("+
		"INSERT INTO "+l.schema+".idempotency_keys (run, key) VALUES ($1, $5) ON CONFLICT DO NOTHING RETURNING run)"+
		"INSERT INTO "+l.schema+".effects (run, job_id, consumer, attempt) SELECT run, $2, $3, $4::uuid FROM fresh",
		run, job, consumer, attempt, key)
	return tag.RowsAffected() > 0, err
}

// now returns the database's clock.
func (l *ledger) now(ctx context.Context) (t time.Time, err error) {
	err = l.pool.QueryRow(ctx, "SELECT clock_timestamp()").Scan(&t)
	return t, err
}

// count returns how many effects a run has so far.
func (l *ledger) count(ctx context.Context, run string) (n int, err error) {
	err = l.pool.QueryRow(ctx, "SELECT count(*) FROM "+l.schema+".effects WHERE run = $1", run).Scan(&n)
	return n, err
}

// read returns the effects of a run in the order in which they happened, and
// when the last one did.
func (l *ledger) read(ctx context.Context, run string) (effects []effect, last time.Time, err error) {
	rows, err := l.pool.Query(ctx, "SELECT job_id, consumer, at FROM "+l.schema+".effects WHERE run = $1 ORDER BY at", run)
	if err != nil {
		return nil, last, err
	}
	var e effect
	_, err = pgx.ForEachRow(rows, []any{&e.job, &e.consumer, &last}, func() error {
		effects = append(effects, e)
		return nil
	})
	return effects, last, err
}
