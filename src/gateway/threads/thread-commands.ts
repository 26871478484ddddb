/** Executes the commands of the main thread on one gateway thread. */

import type { SpoolWriter } from '../../storage/spool/spool-writer.ts'
import type { Clock } from '../../foundation/runtime/clock.ts'
import type { Authenticator } from '../authentication/authenticate.ts'
import type { UpstreamGates } from '../backend/upstream-gates.ts'
import type { CallerContexts } from '../call/caller-contexts.ts'
import type { ClientServer } from '../connection/client.ts'
import type { MainThreadLink } from '../messages/main-thread-link.ts'
import type { Command, JsonWebKeySet, ThreadSettings } from '../messages/messages.ts'
import type { WebSockets } from '../websocket/web-sockets.ts'
import type { ServedRevisions } from './served-revisions.ts'

const IDLE_CHECK_MS = 50

/** The parts of a gateway thread that commands change. */
export interface ThreadParts {
  readonly settings: Pick<ThreadSettings, 'host' | 'reusePort'>
  readonly clock: Clock
  readonly mainThread: MainThreadLink
  readonly revisions: ServedRevisions
  readonly callerContexts: CallerContexts
  readonly authenticator: Authenticator
  readonly gates: UpstreamGates
  /** The public keys that the thread publishes. */
  readonly publishedKeys: { jwks: JsonWebKeySet }
  readonly server: ClientServer
  readonly webSockets: WebSockets
  readonly spool: SpoolWriter
}

/** Executes one command; `id` is the id of its message. */
export async function executeCommand(thread: ThreadParts, id: number, command: Command): Promise<void> {
  const { revisions, callerContexts, authenticator } = thread
  switch (command.type) {
    case 'restore':
      return revisions.restore(command.revisions)
    case 'prepare':
      return revisions.prepare(id, command.plan, command.slas)
    case 'swap':
      return revisions.swap(command.prepared, command.memberOfProductIds)
    case 'abort':
      return revisions.abort(command.prepared)
    case 'withdraw':
      revisions.withdraw(command.api)
      return callerContexts.release(command.api)
    case 'sla':
      revisions.setSla(command.sla)
      return callerContexts.release(command.sla.api)
    case 'grants':
      return command.grants.forEach(authenticator.applyGrant)
    case 'keys':
      thread.publishedKeys.jwks = command.jwks
      return authenticator.setKeys(command.jwks)
    case 'membership':
      return setMembership(thread, command.api, command.productIds)
    case 'revoked':
      return command.tokens.forEach(authenticator.revokeToken)
    case 'revokedPeople':
      return command.people.forEach(authenticator.revokePerson)
    case 'providers':
      return authenticator.setProviders(command.providers)
    case 'gate':
      return thread.gates.set(command.key, command.gate)
    case 'blocks':
      return callerContexts.release(command.api)
    case 'certificates':
      return thread.server.secure?.(command.tls)
    case 'listen':
      return listen(thread, command.port)
    case 'leave':
      thread.webSockets.leave()
      return thread.server.leave()
    case 'drain':
      return drain(thread)
    default:
      command satisfies never
  }
}

function setMembership({ revisions, authenticator }: ThreadParts, api: string, productIds: readonly string[]): void {
  revisions.setMembership(api, productIds)
  const plan = revisions.planOf(api)
  if (plan !== undefined) authenticator.membershipChanged(plan.tenant)
}

function listen({ settings, server, mainThread }: ThreadParts, port: number): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>()
  server.once('error', reject)
  server.listen({ host: settings.host, port, reusePort: settings.reusePort }, () => {
    server.off('error', reject)
    const address = server.address()
    if (address !== null && typeof address === 'object') mainThread.send({ type: 'listening', port: address.port })
    resolve()
  })
  return promise
}

/** Stops accepting connections, completes the open calls and closes everything that the thread holds. */
async function drain({ server, webSockets, clock, gates, spool, mainThread }: ThreadParts): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>()
  server.close(() => resolve())
  server.leave()
  webSockets.leave()
  server.closeIdleConnections()
  // A connection stays open when its last call ends, so idle connections are closed repeatedly.
  const stop = clock.every(IDLE_CHECK_MS, () => server.closeIdleConnections())
  await promise
  stop()
  gates.close()
  spool.close()
  mainThread.close()
}
