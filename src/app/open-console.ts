/** Composes the server side of the console. */

import { randomBytes } from 'node:crypto'
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

export function openConsole(core: Core, { oauth }: Pick<Identity, 'oauth'>): Console {
  const { config, addresses, clock, vault } = core
  const cookies = createConsoleCookies(addresses)
  const source = createTokenSource(oauth)
  const sessions = createConsoleSessions({
    ...{ source, clock },
    documents: createSessionDocuments(core),
    mutex: createKeyedMutex(),
  })
  const seals = createSeals<SignInState>({ vault, clock, stage: 'console', lifetimeMs: SIGN_IN_MS })
  return createConsole({
    cookies,
    sessions,
    pages: createConsolePages(),
    requests: createConsoleRequests({ cookies, sessions }),
    signIn: createSignIn({ ...addresses, seals, cookies, source, sessions, randomBytes }),
    organisation: config.adminTenant,
  })
}
