import { expect, it } from 'vitest'
import { readConfig } from '../../../../src/app/config.ts'

const PAIR = { TLS_CERT_FILE: '/etc/tls/gw.crt', TLS_KEY_FILE: '/etc/tls/gw.key' }

it('is without TLS by default', () => {
  expect(readConfig([], {})).toMatchObject({ tls: null, httpRedirectPort: null })
})

it('reads a pair, a folder, authorities of clients and the port for HTTP', () => {
  const environment = {
    ...PAIR,
    TLS_CERT_DIR: '/etc/more',
    TLS_CLIENT_CA_FILE: '/etc/ca.pem',
    HTTP_REDIRECT_PORT: '80',
  }
  expect(readConfig([], environment)).toMatchObject({
    tls: {
      pair: { certFile: '/etc/tls/gw.crt', keyFile: '/etc/tls/gw.key' },
      folder: '/etc/more',
      clientCaFile: '/etc/ca.pem',
    },
    httpRedirectPort: 80,
  })
})

it('needs no pair if there is a folder', () => {
  expect(readConfig([], { TLS_CERT_DIR: '/etc/more' })).toMatchObject({ tls: { pair: null, folder: '/etc/more' } })
})

it.each([
  [{ TLS_CERT_FILE: '/a' }, 'TLS_CERT_FILE and TLS_KEY_FILE go together'],
  [{ TLS_KEY_FILE: '/a', TLS_CERT_DIR: '/b' }, 'TLS_CERT_FILE and TLS_KEY_FILE go together'],
  [
    { TLS_CLIENT_CA_FILE: '/a' },
    'TLS_CLIENT_CA_FILE needs a certificate of this service: TLS_CERT_FILE or TLS_CERT_DIR',
  ],
  [
    { HTTP_REDIRECT_PORT: '80' },
    'HTTP_REDIRECT_PORT needs a certificate of this service: TLS_CERT_FILE or TLS_CERT_DIR',
  ],
])('refuses %j', (environment, line) => {
  expect(() => readConfig([], environment)).toThrow(line)
})
