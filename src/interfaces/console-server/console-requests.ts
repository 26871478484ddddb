/**
 * Requests of the console to the platform API: below `/console/api`, with the cookie of a session instead of a credential.
 *
 * The path is the only difference. The guard, the routes and the records are those of any client, and the token of the session is
 * the credential. A request counts only if a page of the console sent it: a header that other origins may not send, and the browser's
 * own word for where it comes from. Shared caches keep no answer, because they do not know that a cookie is a credential.
 */

import type { IncomingMessage } from 'node:http'
import type { FastifyInstance } from 'fastify'
import { Problem } from '../../foundation/domain/problem.ts'
import type { Admission } from './admission.ts'
import type { ConsoleCookies } from './console-cookies.ts'
import type { ConsoleSessions } from './console-sessions.ts'
import { TokensUnavailable } from './token-source.ts'

export interface ConsoleRequestsOptions {
  readonly cookies: ConsoleCookies
  readonly sessions: Pick<ConsoleSessions, 'tokenOf'>
  readonly admission: Admission
  readonly baseUrl: string
}

export interface ConsoleRequests {
  /** Throws `Problem('operation_forbidden')` unless a page of the console sent the request. */
  refuseOtherOrigins(request: Pick<IncomingMessage, 'headers'>): void
  /** Returns the path of the platform API for a request below `/console/api`, and that of any other request unchanged. */
  rewriteUrl(request: IncomingMessage): string
  /** Returns the credential of the session. Throws a `Problem` if no page of the console sent the request, or if there is no session. */
  credentialFor(request: IncomingMessage): Promise<string>
  /** Adds the hook that gives such requests their credential. */
  install(app: FastifyInstance): void
}

/** The operations of the platform API and its addresses: nothing else that the platform serves, by no other name. */
const PATH = /^\/console\/api(\/(?:v1(?:[/?].*)?|\.well-known\/tollgate))$/
/** A page of another origin can send it only after a preflight request, which the platform refuses. */
const CONSOLE_HEADER = 'tollgate-console'
const PORTAL_OFF = 'The portal of the organisation is switched off.'
const NOT_SIGNED_IN = 'Nobody is signed in to the console, or the session has ended.'

export function createConsoleRequests(options: ConsoleRequestsOptions): ConsoleRequests {
  const { cookies, sessions, admission } = options
  const { origin: own } = new URL(options.baseUrl)
  const marked = new WeakSet<IncomingMessage>()

  /** Browsers leave `Origin` out of reads; those that do not know `Sec-Fetch-Site` send it with changes. */
  function refuseOtherOrigins({ headers }: Pick<IncomingMessage, 'headers'>): void {
    const { origin = own, 'sec-fetch-site': site = 'same-origin' } = headers
    if (headers[CONSOLE_HEADER] === '1' && site === 'same-origin' && origin === own) return
    throw new Problem('operation_forbidden', 'Only pages of the console may send this request.')
  }

  async function credentialFor(request: IncomingMessage): Promise<string> {
    refuseOtherOrigins(request)
    const id = cookies.session.read(request.headers.cookie)
    const token = id === null ? null : await tokenOf(sessions, id)
    if (token === null) throw new Problem('credential_missing', NOT_SIGNED_IN)
    if (!(await admission.admits(token))) throw new Problem('credential_missing', PORTAL_OFF)
    return `Bearer ${token}`
  }

  return {
    refuseOtherOrigins,
    credentialFor,
    rewriteUrl(request) {
      const { url = '/' } = request
      const path = PATH.exec(url)?.[1]
      if (path === undefined) return url
      marked.add(request)
      return path
    },
    install(app) {
      app.addHook('onRequest', async ({ id, raw, headers }, reply) => {
        if (!marked.has(raw)) return
        void reply.headers({ 'X-Request-Id': id, 'Cache-Control': 'private, no-cache' })
        // Otherwise a page could choose between two credentials.
        delete headers['x-api-key']
        delete headers['authorization']
        headers['authorization'] = await credentialFor(raw)
      })
    },
  }
}

async function tokenOf(sessions: ConsoleRequestsOptions['sessions'], id: string): Promise<string | null> {
  try {
    return await sessions.tokenOf(id)
  } catch (cause) {
    if (!(cause instanceof TokensUnavailable)) throw cause
    throw new Problem('unavailable', 'The session could not be renewed. Retry later.', { cause })
  }
}
