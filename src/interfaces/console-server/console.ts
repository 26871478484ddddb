/** The console: its pages, the sign-in of people, and the platform API for their browsers. */

import type { IncomingMessage } from 'node:http'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { Portals } from '../../control/access/portals.ts'
import { installBrandRoutes } from './brand-routes.ts'
import type { ConsoleCookies } from './console-cookies.ts'
import type { ConsolePages } from './console-pages.ts'
import type { ConsoleRequests } from './console-requests.ts'
import type { ConsoleSessions } from './console-sessions.ts'
import type { Redirect, SignIn } from './sign-in.ts'
import type { Tries } from './tries.ts'

export interface ConsoleOptions {
  readonly pages: ConsolePages
  readonly requests: ConsoleRequests
  readonly signIn: SignIn
  readonly tries: Tries
  readonly sessions: Pick<ConsoleSessions, 'end'>
  readonly cookies: ConsoleCookies
  readonly portals: Pick<Portals, 'brandOf' | 'logo'>
  /** The organisation of a sign-in that names none. */
  readonly organisation: string
}

export interface Console {
  readonly isBuilt: boolean
  rewriteUrl(this: void, request: IncomingMessage): string
  /** Installed before the guard, which checks the credential that a request of the console gets. */
  install(this: void, app: FastifyInstance): void
}

const ORGANISATION_LENGTH_MAX = 128

export function createConsole(options: ConsoleOptions): Console {
  const { pages, requests, signIn, tries, sessions, cookies, portals, organisation: ownOrganisation } = options

  function install(app: FastifyInstance): void {
    requests.install(app)
    pages.install(app)
    tries.install(app)
    installBrandRoutes(app, portals)
    app.get('/console/sign-in', async (request, reply) => {
      const { organisation, path } = queryOf(request)
      const named = typeof organisation === 'string' && organisation !== '' ? organisation : ownOrganisation
      const begun = signIn.begin(named.slice(0, ORGANISATION_LENGTH_MAX), typeof path === 'string' ? path : '')
      return follow(reply, begun)
    })
    app.get('/console/callback', async (request, reply) =>
      follow(reply, await signIn.end(queryOf(request), request.headers.cookie)),
    )
    app.post('/console/sign-out', async (request, reply) => {
      requests.refuseOtherOrigins(request.raw)
      const id = cookies.session.read(request.headers.cookie)
      if (id !== null) await sessions.end(id)
      return reply.header('Set-Cookie', cookies.session.clear()).header('Cache-Control', 'no-store').code(204).send()
    })
  }

  return { isBuilt: pages.isBuilt, rewriteUrl: requests.rewriteUrl, install }
}

interface RedirectReply {
  header(name: string, value: string | string[]): RedirectReply
  redirect(location: string, status: number): unknown
}

function follow(reply: RedirectReply, { location, cookies }: Redirect): unknown {
  return reply
    .header('Set-Cookie', [...cookies])
    .header('Cache-Control', 'no-store')
    .header('Referrer-Policy', 'no-referrer')
    .redirect(location, 303)
}

function queryOf({ query }: FastifyRequest): Readonly<Record<string, unknown>> {
  return query as Readonly<Record<string, unknown>>
}
