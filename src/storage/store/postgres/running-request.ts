/**
 * The request with an idempotency key on whose behalf the current code runs.
 *
 * It follows the work through all its asynchronous calls, so that a commit can mark the key in its own transaction. Once the request
 * has its answer, work that it left behind commits like any other.
 */

import { AsyncLocalStorage } from 'node:async_hooks'
import type { ClientBase } from 'pg'
import { RequestTakenOver } from '../idempotency-store.ts'

interface RunningRequest {
  readonly key: string
  /** Random id of this process's claim on the key. */
  readonly claimId: string
  isRunning: boolean
}

export interface RunningRequests {
  run<Result>(request: Omit<RunningRequest, 'isRunning'>, work: () => Promise<Result>): Promise<Result>
  /** Marks the key of the current request within a transaction. Throws `RequestTakenOver`. */
  mark(client: Pick<ClientBase, 'query'>): Promise<void>
}

export function createRunningRequests(): RunningRequests {
  const current = new AsyncLocalStorage<RunningRequest>()
  return {
    async run(request, work) {
      const running = { ...request, isRunning: true }
      try {
        return await current.run(running, work)
      } finally {
        running.isRunning = false
      }
    },
    async mark(client) {
      const request = current.getStore()
      if (request?.isRunning !== true) return
      const { rowCount } = await client.query(MARK, [request.key, request.claimId])
      if (rowCount === 0) {
        throw new RequestTakenOver('the idempotency key of the request has expired; another node executes the request')
      }
    },
  }
}

const MARK = 'UPDATE idempotency_key SET has_effect = true WHERE key = $1 AND claim_id = $2'
