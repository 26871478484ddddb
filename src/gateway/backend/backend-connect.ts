/**
 * Builds undici's `connect` option for a backend, which checks the address of every new connection.
 *
 * The host name is resolved once, and the connection uses the addresses that were checked. A DNS response that
 * changes between registration and connection (DNS rebinding) therefore has no effect. undici does not resolve an
 * IP address, so an address in the URL is checked before its connection. Calls on kept-alive connections need no
 * check.
 */

import { isIP, type Socket } from 'node:net'
import type { buildConnector } from 'undici'
import { endpointOf, type BackendGuard, type Endpoint } from '../../foundation/outbound/backend-guard.ts'
import { createConnector } from '../connection/connector.ts'
import { createJudgedLookup, type Resolve } from '../../foundation/outbound/guarded-lookup.ts'
import type { BackendPlan } from '../../boundary/plan/route-plan.ts'
import type { CountEvent } from '../../foundation/runtime/event-reasons.ts'

/** `code` of the error for a connection to a refused address. */
export const BACKEND_ADDRESS_REFUSED = 'TOLLGATE_ADDRESS_REFUSED'

/** `code` of the error for a connection above the limit of open files. */
export const BACKEND_CONNECTIONS_FULL = 'TOLLGATE_CONNECTIONS_FULL'

/** Options of undici's connector, or a connector. */
export type ConnectOption = buildConnector.BuildOptions | buildConnector.connector

/** Returns the `connect` option of a pool; `base` holds the connector's other options. */
export type BackendConnect = (
  plan: Pick<BackendPlan, 'origin' | 'mayBePrivate'>,
  base: buildConnector.BuildOptions,
) => ConnectOption

export interface BackendConnectOptions {
  readonly guard: BackendGuard
  readonly resolve: Resolve
  /** Counts refused connections. */
  readonly count: CountEvent
  /** Upper bound of connections to all backends together; by default only the pools have bounds. */
  readonly connectionsMax?: number
}

export function createBackendConnect(options: BackendConnectOptions): BackendConnect {
  const { connectionsMax } = options
  const guarded = createGuardedConnect(options)
  return connectionsMax === undefined ? guarded : limitConnections(guarded, connectionsMax, options.count)
}

/** Counts the open sockets of all backends together, and refuses connections above `max`. */
function limitConnections(guarded: BackendConnect, max: number, count: CountEvent): BackendConnect {
  let open = 0
  return (plan, base) => {
    const option = guarded(plan, base)
    const connect = typeof option === 'function' ? option : createConnector(option)
    return (target, callback) => {
      if (open >= max) {
        count('backend_connections_full')
        const cause = new Error('the thread has reached its limit of connections to backends (limit of open files)')
        return queueMicrotask(() => callback(Object.assign(cause, { code: BACKEND_CONNECTIONS_FULL }), null))
      }
      open++
      connect(target, (...result) => {
        // undici passes no socket after an error.
        const socket = result[1] as Socket | null | undefined
        if (socket) socket.once('close', () => open--)
        else open--
        callback(...result)
      })
    }
  }
}

function createGuardedConnect({ guard, resolve, count }: BackendConnectOptions): BackendConnect {
  const anyAddress = createJudgedLookup(resolve, async () => {})

  async function check(endpoint: Endpoint, addresses: readonly string[]): Promise<void> {
    const fault = await guard(endpoint, addresses)
    if (fault === null) return
    count('backend_address_refused')
    throw Object.assign(new Error(`the address of the backend is not allowed (${fault})`), {
      code: BACKEND_ADDRESS_REFUSED,
    })
  }

  return ({ origin, mayBePrivate }, base) => {
    const endpoint = endpointOf(origin)
    if (mayBePrivate) return isIP(endpoint.hostname) === 0 ? { ...base, lookup: anyAddress } : base
    if (isIP(endpoint.hostname) === 0) {
      const lookup = createJudgedLookup(resolve, (addresses) => check(endpoint, addresses))
      return { ...base, lookup }
    }
    const connect = createConnector(base)
    return (options, callback) => {
      check(endpoint, [endpoint.hostname]).then(
        () => connect(options, callback),
        (cause: Error) => callback(cause, null),
      )
    }
  }
}
