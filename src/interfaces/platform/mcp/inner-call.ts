/**
 * Calls of operations that a message over MCP makes within the service.
 *
 * The guard finds the call by the asynchronous context, which no client can set, and not by a header. It records the call with
 * the channel `mcp`.
 */

import { AsyncLocalStorage } from 'node:async_hooks'
import type { Problem } from '../../../foundation/domain/problem.ts'

export interface InnerCall {
  readonly operationId: string
  /** Why the arguments cannot be sent; the call is refused for it after its limits. */
  readonly fault: Problem | null
  /** Set by the guard: the request has led to the operation, and has a record. */
  isReached: boolean
}

export interface InnerCalls {
  /** Returns the call that the current request is; null for a request of a client. */
  current(): InnerCall | null
  run<Result>(call: InnerCall, work: () => Promise<Result>): Promise<Result>
}

export function createInnerCalls(): InnerCalls {
  const storage = new AsyncLocalStorage<InnerCall>()
  return {
    current: () => storage.getStore() ?? null,
    run: (call, work) => storage.run(call, work),
  }
}
