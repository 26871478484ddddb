/**
 * An independent identity provider (`oidc-provider`) on a fixed port: it can rotate its keys, stop and
 * start again. Its clients get JWT access tokens for an API by naming it as `resource`.
 */

import { createServer, type Server } from 'node:http'
import { calculateJwkThumbprint, exportJWK, generateKeyPair, type JWK } from 'jose'
import Provider from 'oidc-provider'
import { request } from 'undici'
import { OWN_ADDRESS, ownPort, ownUrl } from '../fixtures/own-address.ts'

export interface FederatedProvider {
  readonly issuer: string
  /** Returns an access token whose `aud` is `audience`. */
  token(client: string, audience: string): Promise<string>
  /** Signs with another key from now on; the previous one is no longer published, unless `keep`. */
  rotate(options?: { keep: boolean }): Promise<void>
  leave(): Promise<void>
  comeBack(): Promise<void>
  /** Number of requests for its key set so far. */
  readonly keySetReads: () => number
}

export interface FederatedProviderOptions {
  readonly clients: readonly { readonly id: string; readonly secret: string }[]
  readonly scopes: readonly string[]
}

export async function startFederatedProvider(options: FederatedProviderOptions): Promise<FederatedProvider> {
  const { clients, scopes } = options
  let keys = [await makeKey()]
  let handle: ReturnType<Provider['callback']> | null = null
  let reads = 0
  let server = open()
  const port = await ownPort()
  await listen(server, port)
  const issuer = ownUrl(port)
  build()

  function open(): Server {
    return createServer((incoming, response) => {
      if (incoming.url === '/jwks') reads++
      void handle?.(incoming, response)
    })
  }

  function build(): void {
    const provider = new Provider(issuer, {
      jwks: { keys },
      clients: clients.map(({ id, secret }) => ({
        client_id: id,
        client_secret: secret,
        grant_types: ['client_credentials'],
        response_types: [],
        redirect_uris: [],
        id_token_signed_response_alg: 'ES256',
      })),
      features: {
        clientCredentials: { enabled: true },
        devInteractions: { enabled: false },
        resourceIndicators: {
          enabled: true,
          getResourceServerInfo: (_context, resource) => ({
            scope: scopes.join(' '),
            audience: new URL(resource).pathname.slice(1),
            accessTokenFormat: 'jwt',
            accessTokenTTL: 600,
            jwt: { sign: { alg: 'ES256' } },
          }),
        },
      },
    })
    handle = provider.callback()
  }

  async function leave(): Promise<void> {
    server.closeAllConnections()
    await new Promise((resolve) => server.close(resolve))
  }

  return {
    issuer,
    keySetReads: () => reads,
    leave,
    async token(client, audience) {
      const secret = clients.find(({ id }) => id === client)?.secret ?? ''
      const { body } = await request(`${issuer}/token`, {
        method: 'POST',
        headers: {
          'content-type': 'application/x-www-form-urlencoded',
          authorization: `Basic ${Buffer.from(`${client}:${secret}`).toString('base64')}`,
        },
        body: new URLSearchParams({
          grant_type: 'client_credentials',
          scope: scopes.join(' '),
          resource: `https://resources.example/${audience}`,
        }).toString(),
      })
      const answer = (await body.json()) as { access_token?: string }
      if (answer.access_token === undefined) throw new Error(`the provider answered ${JSON.stringify(answer)}`)
      return answer.access_token
    },
    async rotate({ keep } = { keep: false }) {
      const next = await makeKey()
      keys = keep ? [next, ...keys] : [next]
      build()
    },
    async comeBack() {
      server = open()
      await listen(server, port)
    },
  }
}

async function makeKey(): Promise<JWK> {
  const { privateKey } = await generateKeyPair('ES256', { extractable: true })
  const jwk = await exportJWK(privateKey)
  return { ...jwk, alg: 'ES256', use: 'sig', kid: await calculateJwkThumbprint(jwk) }
}

function listen(server: Server, port: number): Promise<void> {
  return new Promise((resolve) => server.listen(port, OWN_ADDRESS, resolve))
}
