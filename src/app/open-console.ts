/** Composes the server side of the console. */

import { randomBytes } from 'node:crypto'
import type { Portals } from '../control/access/portals.ts'
import { createAdmission } from '../interfaces/console-server/admission.ts'
import { createConsole, type Console } from '../interfaces/console-server/console.ts'
import { createConsoleCookies } from '../interfaces/console-server/console-cookies.ts'
import { createConsolePages } from '../interfaces/console-server/console-pages.ts'
import { createConsoleRequests } from '../interfaces/console-server/console-requests.ts'
import { createConsoleSessions } from '../interfaces/console-server/console-sessions.ts'
import { createSessionDocuments } from '../interfaces/console-server/session-documents.ts'
import { createSignIn, type SignInState } from '../interfaces/console-server/sign-in.ts'
import { createTokenSource } from '../interfaces/console-server/token-source.ts'
import { createTries } from '../interfaces/console-server/tries.ts'
import { createTryGateway } from '../interfaces/console-server/try-gateway.ts'
import { createKeyedMutex } from '../control/command/keyed-mutex.ts'
import { createSeals } from '../control/identity/sealed-transaction.ts'
import type { Core } from './open-core.ts'
import type { Identity } from './open-identity.ts'

const SIGN_IN_MS = 600_000

export interface OpenConsoleOptions {
  readonly core: Core
  readonly identity: Pick<Identity, 'oauth' | 'issuePersonToken'>
  readonly portals: Portals
}

export function openConsole({ core, identity, portals }: OpenConsoleOptions): Console {
  const { config, addresses, clock, vault } = core
  const host = reachableHost(config.host)
  const cookies = createConsoleCookies(addresses)
  const source = createTokenSource(identity.oauth)
  const sessions = createConsoleSessions({
    ...{ source, clock, issuePersonToken: identity.issuePersonToken },
    documents: createSessionDocuments(core),
    mutex: createKeyedMutex(),
  })
  const admission = createAdmission({ isPortalOn: portals.isEnabled })
  const requests = createConsoleRequests({ ...addresses, cookies, sessions, admission })
  const seals = createSeals<SignInState>({ vault, clock, stage: 'console', lifetimeMs: SIGN_IN_MS })
  return createConsole({
    cookies,
    sessions,
    portals,
    pages: createConsolePages(),
    requests,
    tries: createTries({
      ...{ cookies, sessions, requests },
      send: createTryGateway({ ...addresses, host, port: addresses.gatewayPort, clock }),
    }),
    signIn: createSignIn({ ...addresses, seals, cookies, source, sessions, admission, randomBytes }),
    organisation: config.adminTenant,
  })
}

/** The gateway of this process is called without the way through the network that its public address may need. */
function reachableHost(host: string): string {
  if (host === '0.0.0.0') return '127.0.0.1'
  return host === '::' ? '::1' : host
}
