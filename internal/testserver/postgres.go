package testserver

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
)

// PostgresOptions tunes StartPostgres.
type PostgresOptions struct {
	// Durable keeps fsync on, for measuring what a commit costs. Without it a
	// commit survives Kill, but not a crash of the machine.
	// Default: false, for speed.
	Durable bool
	// Args are further arguments of postgres, such as "-c", "log_statement=all".
	// Default: none.
	Args []string
}

// Postgres is a running Postgres server with an empty database "postgres". It
// accepts 200 connections.
type Postgres struct {
	// DSN is the connection URL of its superuser, without a password. It stays
	// the same when the server is restarted.
	DSN string

	server
}

// StartPostgres creates a database cluster, starts it and returns when it
// answers. The caller must call Stop. The error matches ErrMissing if there is
// no server to start.
func StartPostgres(ctx context.Context, opts PostgresOptions) (*Postgres, error) {
	bin, err := postgresBin()
	place := func(ctx context.Context, p *Postgres, port int) error { return opts.inDir(ctx, p, bin, port) }
	if err != nil {
		if !dockerAnswers(ctx) {
			return nil, err
		}
		if err := postgresImage.pull(ctx); err != nil {
			return nil, err
		}
		place = opts.inContainer
	}
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()

	var p *Postgres
	err = onFreePort(func(port int) error {
		p = &Postgres{DSN: fmt.Sprintf("postgres://postgres@%s/postgres?sslmode=disable", loopback(port))}
		p.crash = syscall.SIGQUIT // Postgres' own "immediate" stop; SIGKILL would leave its children behind
		if err := place(ctx, p, port); err != nil {
			return err
		}
		if err := p.start(ctx); err != nil {
			return errors.Join(err, p.Stop())
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return p, nil
}

func (o PostgresOptions) inDir(ctx context.Context, p *Postgres, bin string, port int) error {
	cred, err := postgresUser()
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "testserver-postgres-")
	if err != nil {
		return err
	}
	data := filepath.Join(dir, "data")
	if err := initPostgres(ctx, bin, dir, data, cred); err != nil {
		return errors.Join(err, os.RemoveAll(dir))
	}
	argv := []string{filepath.Join(bin, "postgres"), "-D", data, "-p", strconv.Itoa(port),
		"-c", "listen_addresses=127.0.0.1", "-c", "unix_socket_directories=" + dir}
	p.useDir(dir, append(argv, o.args()...), cred)
	p.ready = func(_ context.Context, proc process) bool { return postgresReady(data, proc.pid()) }
	return nil
}

var postgresImage = image{name: "postgres:16", port: 5432, env: []string{"POSTGRES_HOST_AUTH_METHOD=trust"}}

func (o PostgresOptions) inContainer(ctx context.Context, p *Postgres, port int) error {
	i := postgresImage
	i.args = append([]string{"postgres"}, o.args()...)
	p.ready = func(ctx context.Context, proc process) bool {
		// By TCP: while it creates the cluster the image runs a server that
		// listens on a socket only.
		_, err := docker(ctx, "exec", proc.(container).name, "pg_isready", "--host", "127.0.0.1")
		return err == nil
	}
	return p.useContainer(ctx, i, port)
}

func (o PostgresOptions) args() []string {
	args := []string{"-c", "max_connections=200"}
	if !o.Durable {
		args = append(args, "-c", "fsync=off", "-c", "full_page_writes=off")
	}
	return append(args, o.Args...)
}

// initPostgres creates a cluster in data, inside dir, both owned by the user the
// server will run as.
func initPostgres(ctx context.Context, bin, dir, data string, cred *syscall.Credential) error {
	if cred != nil {
		if err := os.Chown(dir, int(cred.Uid), int(cred.Gid)); err != nil {
			return err
		}
	}
	cmd := exec.CommandContext(ctx, filepath.Join(bin, "initdb"), "-D", data, "--username=postgres",
		"--auth=trust", "--encoding=UTF8", "--locale=C", "--no-sync")
	cmd.Dir = dir
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: cred}
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("could not run initdb: %w\n%s", err, out)
	}
	return nil
}

// postgresUser returns the credential to drop to, or nil where this program
// may run Postgres itself.
func postgresUser() (*syscall.Credential, error) {
	if os.Geteuid() != 0 {
		return nil, nil
	}
	u, err := user.Lookup("postgres")
	if err != nil {
		u, err = user.Lookup("nobody")
	}
	if err != nil {
		return nil, fmt.Errorf("postgres does not run as root, and there is no user to run it as: %w", err)
	}
	uid, uidErr := strconv.ParseUint(u.Uid, 10, 32)
	gid, gidErr := strconv.ParseUint(u.Gid, 10, 32)
	if err := errors.Join(uidErr, gidErr); err != nil {
		return nil, fmt.Errorf("could not read the ids of user %s: %w", u.Username, err)
	}
	return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}, nil
}

// postgresReady reads what the server writes about itself: its process id in
// the first line and "ready" in the eighth.
func postgresReady(data string, pid int) bool {
	file, err := os.ReadFile(filepath.Join(data, "postmaster.pid"))
	if err != nil {
		return false
	}
	lines := strings.Split(string(file), "\n")
	return len(lines) > 7 && lines[0] == strconv.Itoa(pid) && strings.TrimSpace(lines[7]) == "ready"
}

// postgresBin returns the folder of the server's binaries, which distributions
// keep outside the PATH.
func postgresBin() (string, error) {
	var dirs []string
	if path, err := exec.LookPath("postgres"); err == nil {
		dirs = append(dirs, filepath.Dir(path))
	}
	if out, err := exec.Command("pg_config", "--bindir").Output(); err == nil {
		dirs = append(dirs, strings.TrimSpace(string(out)))
	}
	debian, _ := filepath.Glob("/usr/lib/postgresql/*/bin")
	slices.Reverse(debian) // the newest first
	for _, dir := range append(dirs, debian...) {
		if isExecutable(filepath.Join(dir, "initdb")) && isExecutable(filepath.Join(dir, "postgres")) {
			return dir, nil
		}
	}
	return "", fmt.Errorf("%w: initdb and postgres are not in PATH, `pg_config --bindir` or /usr/lib/postgresql/*/bin, and no Docker daemon answers (on Debian: apt-get install postgresql)", ErrMissing)
}

func isExecutable(path string) bool {
	_, err := exec.LookPath(path)
	return err == nil
}
