/** Composes the server side of the console. */

import { randomBytes } from 'node:crypto'
import type { Portals } from '../access/portals.ts'
import { createAdmission } from '../console-server/admission.ts'
import { createConsole, type Console } from '../console-server/console.ts'
import { createConsoleCookies } from '../console-server/console-cookies.ts'
import { createConsolePages } from '../console-server/console-pages.ts'
import { createConsoleRequests } from '../console-server/console-requests.ts'
import { createConsoleSessions } from '../console-server/console-sessions.ts'
import { createSessionDocuments } from '../console-server/session-documents.ts'
import { createSignIn, type SignInState } from '../console-server/sign-in.ts'
import { createTokenSource } from '../console-server/token-source.ts'
import { createKeyedMutex } from '../command/keyed-mutex.ts'
import { createSeals } from '../identity/sealed-transaction.ts'
import type { Core } from './open-core.ts'
import type { Identity } from './open-identity.ts'

const SIGN_IN_MS = 600_000

export interface OpenConsoleOptions {
  readonly core: Core
  readonly identity: Pick<Identity, 'oauth'>
  readonly portals: Portals
}

export function openConsole({ core, identity: { oauth }, portals }: OpenConsoleOptions): Console {
  const { config, addresses, clock, vault } = core
  const cookies = createConsoleCookies(addresses)
  const source = createTokenSource(oauth)
  const sessions = createConsoleSessions({
    ...{ source, clock },
    documents: createSessionDocuments(core),
    mutex: createKeyedMutex(),
  })
  const admission = createAdmission({ isPortalOn: portals.isEnabled })
  const seals = createSeals<SignInState>({ vault, clock, stage: 'console', lifetimeMs: SIGN_IN_MS })
  return createConsole({
    cookies,
    sessions,
    portals,
    pages: createConsolePages(),
    requests: createConsoleRequests({ cookies, sessions, admission }),
    signIn: createSignIn({ ...addresses, seals, cookies, source, sessions, admission, randomBytes }),
    organisation: config.adminTenant,
  })
}
