package testserver_test

import (
	"context"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/watermill-dedup/watermill-dedup/internal/testserver"
)

func TestPostgresKeepsCommitsOverRestarts(t *testing.T) {
	t.Parallel()
	p := testserver.NewPostgres(t, testserver.PostgresOptions{})
	execSQL(t, p.DSN, "CREATE TABLE job (id int); INSERT INTO job VALUES (1)")
	if err := p.Restart(); err != nil {
		t.Fatal(err)
	}
	if got := execSQL(t, p.DSN, "SELECT id FROM job"); got != "SELECT 1" {
		t.Errorf("after a restart the table gives %q, want one row", got)
	}
}

func TestPostgresDurable(t *testing.T) {
	t.Parallel()
	p := testserver.NewPostgres(t, testserver.PostgresOptions{Durable: true})
	if got := execSQL(t, p.DSN, "SELECT 1 WHERE current_setting('fsync') = 'on'"); got != "SELECT 1" {
		t.Error("fsync is off")
	}
}

func execSQL(t *testing.T, dsn, sql string) (tag string) {
	t.Helper()
	ctx := context.Background()
	conn, err := pgx.Connect(ctx, dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(ctx)
	result, err := conn.Exec(ctx, sql)
	if err != nil {
		t.Fatal(err)
	}
	return result.String()
}
