// Package dial connects to the URL of a server.
package dial

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net"
	"net/url"
	"os"
	"time"
)

// Files are what TLS needs: of authorities and of a certificate with its key, and the name that the server's must have.
type Files struct{ CA, Cert, Key, ServerName string }

// Address is a URL, and what is needed to trust and to be trusted there.
type Address struct {
	URL         string
	network, to string
	tls         *tls.Config
}

// New reads a URL.
func New(from string, o Files) (*Address, error) {
	u, err := url.Parse(from)
	if err != nil {
		return nil, err
	}
	a := &Address{URL: from, network: "tcp"}
	ports := map[string]string{"ergon": "7466", "ergons": "7467"}
	switch {
	case u.Scheme == "unix" && u.Host == "" && len(u.Path) > 1:
		a.network, a.to = "unix", u.Path
	case ports[u.Scheme] != "" && u.Hostname() != "":
		port := u.Port()
		if port == "" {
			port = ports[u.Scheme]
		}
		a.to = net.JoinHostPort(u.Hostname(), port)
	default:
		return nil, fmt.Errorf("%s is neither ergon://host[:port] nor ergons://host[:port] nor unix:///path", from)
	}
	if u.Scheme == "ergons" {
		a.tls, err = tlsConfig(u.Hostname(), o)
	}
	return a, err
}

// tlsConfig: the server's name must stand among the subjectAltNames; for Go a common name is none.
func tlsConfig(host string, o Files) (*tls.Config, error) {
	config := &tls.Config{MinVersion: tls.VersionTLS12, ServerName: host}
	if o.ServerName != "" {
		config.ServerName = o.ServerName
	}
	if o.CA != "" {
		pem, err := os.ReadFile(o.CA)
		if err != nil {
			return nil, err
		}
		config.RootCAs = x509.NewCertPool()
		if !config.RootCAs.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("%s has no certificate", o.CA)
		}
	}
	if o.Cert != "" {
		key := o.Key
		if key == "" {
			key = o.Cert
		}
		pair, err := tls.LoadX509KeyPair(o.Cert, key)
		if err != nil {
			return nil, err
		}
		config.Certificates = []tls.Certificate{pair}
	}
	return config, nil
}

// Dial connects, over TLS if the URL says so.
func (a *Address) Dial(ctx context.Context) (net.Conn, error) {
	dialer := net.Dialer{KeepAlive: 15 * time.Second}
	if a.tls == nil {
		return dialer.DialContext(ctx, a.network, a.to)
	}
	return (&tls.Dialer{NetDialer: &dialer, Config: a.tls}).DialContext(ctx, a.network, a.to)
}
