/**
 * One server for everything outside of the service that sends it texts: a backend, a receiver of events, an identity provider and
 * a client with a metadata document. All that it answers is hostile.
 */

import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { calculateJwkThumbprint, exportJWK, generateKeyPair, SignJWT } from 'jose'
import { SCRIPT_URL, TEXT } from './documents.ts'

export interface Outside {
  readonly url: string
  /** The id of a client, which is the address of its metadata document. */
  readonly clientId: string
  /** Signs an access token of the identity provider, whose issuer is `url`. */
  token(audience: string, claims: Readonly<Record<string, unknown>>): Promise<string>
  close(): Promise<void>
}

const LATIN = '"><img src=x onerror=ran(910)></script><script>ran(910)</script>'
const PAGE = `<!doctype html><script>ran(911)</script>${TEXT}`

export async function startOutside(): Promise<Outside> {
  const { privateKey, publicKey } = await generateKeyPair('ES256', { extractable: true })
  const jwk = await exportJWK(publicKey)
  const kid = await calculateJwkThumbprint(jwk)
  const server = createServer((incoming, response) => {
    incoming.resume()
    const json = documents()[new URL(incoming.url ?? '/', url).pathname]
    if (json === undefined) answerHostile(incoming, response)
    else response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(json))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const clientId = `${url}/client.json`

  function documents(): Readonly<Record<string, object>> {
    return {
      '/.well-known/openid-configuration': {
        issuer: url,
        jwks_uri: `${url}/jwks`,
        authorization_endpoint: `${url}/authorize`,
        token_endpoint: `${url}/token`,
        response_types_supported: ['code'],
        code_challenge_methods_supported: ['S256'],
        id_token_signing_alg_values_supported: ['ES256'],
      },
      '/jwks': { keys: [{ ...jwk, kid, alg: 'ES256', use: 'sig' }] },
      '/client.json': {
        client_id: clientId,
        client_name: TEXT,
        client_uri: SCRIPT_URL,
        logo_uri: SCRIPT_URL,
        redirect_uris: ['http://127.0.0.1/callback'],
      },
    }
  }

  return {
    url,
    clientId,
    token: (audience, claims) =>
      new SignJWT({ ...claims })
        .setProtectedHeader({ alg: 'ES256', kid, typ: 'at+jwt' })
        .setIssuer(url)
        .setAudience(audience)
        .setSubject(TEXT)
        .setJti(TEXT)
        .setIssuedAt()
        .setExpirationTime('10m')
        .sign(privateKey),
    close: () =>
      new Promise((resolve) => {
        server.closeAllConnections()
        server.close(() => resolve())
      }),
  }
}

/** Receivers of events are refused as well, so that the attempt is shown with its reason. */
function answerHostile({ url = '' }: IncomingMessage, response: ServerResponse): void {
  response.writeHead(url.startsWith('/hook') ? 500 : 200, LATIN, {
    'content-type': 'text/html',
    'x-hostile': LATIN,
    'content-disposition': `inline; filename="${LATIN.replaceAll('"', '')}"`,
    link: '<javascript:ran(912)>; rel=stylesheet',
  })
  response.end(PAGE)
}
