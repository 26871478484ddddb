/**
 * Gives undici's `connect` option for a backend: the guard of tenants' addresses, at every connection.
 *
 * The name is resolved once and the connection is made to the addresses that were judged, so an answer that changes
 * between registration and connection (DNS rebinding) changes nothing. undici does not resolve an IP address, so one
 * in the URL is judged before its connection. Costs nothing per call: connections are kept alive.
 */

import { isIP, type Socket } from 'node:net'
import { buildConnector } from 'undici'
import { endpointOf, type BackendGuard, type Endpoint } from '../../outbound/backend-guard.ts'
import { createJudgedLookup, type Resolve } from '../../outbound/guarded-lookup.ts'
import type { BackendPlan } from '../../plan/route-plan.ts'
import type { CountEvent } from '../../runtime/event-reasons.ts'

/** `code` of the error with which a guarded connection fails. */
export const BACKEND_ADDRESS_REFUSED = 'TOLLGATE_ADDRESS_REFUSED'

/** `code` of the error of a connection for which the limit of open files leaves no room. */
export const BACKEND_CONNECTIONS_FULL = 'TOLLGATE_CONNECTIONS_FULL'

/** Options for undici's connector, or a connector. */
export type ConnectOption = buildConnector.BuildOptions | buildConnector.connector

/** Returns the `connect` option of a pool; `base` holds the connector's other options. */
export type BackendConnect = (
  plan: Pick<BackendPlan, 'origin' | 'mayBePrivate'>,
  base: buildConnector.BuildOptions,
) => ConnectOption

export interface BackendConnectOptions {
  readonly guard: BackendGuard
  readonly resolve: Resolve
  /** Counts connections that were refused. */
  readonly count: CountEvent
  /** Connections to all backends together; default: as many as their pools make. */
  readonly connectionsMax?: number
}

export function createBackendConnect(options: BackendConnectOptions): BackendConnect {
  const { connectionsMax } = options
  const guarded = createGuardedConnect(options)
  return connectionsMax === undefined ? guarded : limitConnections(guarded, connectionsMax, options.count)
}

/** Sockets of all backends are counted together, at each connection; a call costs nothing more. */
function limitConnections(guarded: BackendConnect, max: number, count: CountEvent): BackendConnect {
  let open = 0
  return (plan, base) => {
    const option = guarded(plan, base)
    const connect = typeof option === 'function' ? option : buildConnector(option)
    return (target, callback) => {
      if (open >= max) {
        count('backend_connections_full')
        const cause = new Error('this thread has as many connections to backends as the limit of open files allows')
        return queueMicrotask(() => callback(Object.assign(cause, { code: BACKEND_CONNECTIONS_FULL }), null))
      }
      open++
      connect(target, (...result) => {
        // On an error undici passes no socket at all.
        const socket = result[1] as Socket | null | undefined
        if (socket) socket.once('close', () => open--)
        else open--
        callback(...result)
      })
    }
  }
}

function createGuardedConnect({ guard, resolve, count }: BackendConnectOptions): BackendConnect {
  async function check(endpoint: Endpoint, addresses: readonly string[]): Promise<void> {
    const fault = await guard(endpoint, addresses)
    if (fault === null) return
    count('backend_address_refused')
    throw Object.assign(new Error(`the address of the backend is refused (${fault})`), {
      code: BACKEND_ADDRESS_REFUSED,
    })
  }

  return ({ origin, mayBePrivate }, base) => {
    if (mayBePrivate) return base
    const endpoint = endpointOf(origin)
    if (isIP(endpoint.hostname) === 0) {
      const lookup = createJudgedLookup(resolve, (addresses) => check(endpoint, addresses))
      return { ...base, lookup }
    }
    const connect = buildConnector(base)
    return (options, callback) => {
      check(endpoint, [endpoint.hostname]).then(
        () => connect(options, callback),
        (cause: Error) => callback(cause, null),
      )
    }
  }
}
