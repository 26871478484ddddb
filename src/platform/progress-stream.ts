/** Readers of a programme's progress, as Server-Sent Events: bounded, in all and of one tenant, and sent home at the end. */

import type { FastifyReply } from 'fastify'
import { Problem } from '../domain/problem.ts'
import type { Progress } from '../programmes/programme-document.ts'
import type { Programmes } from '../programmes/programmes.ts'
import type { Clock } from '../runtime/clock.ts'
import { createEventReader, type EventReader } from './event-reader.ts'
import type { Call } from './operation.ts'

export interface ProgressStream {
  /** Takes the reply over; throws `Problem('unavailable')` where too many read. */
  open(call: Call, reply: FastifyReply, id: string): Promise<void>
  close(): void
}

export interface ProgressStreamOptions {
  readonly programmes: Pick<Programmes, 'follow'>
  readonly clock: Clock
}

const READERS_MAX = 200
const READERS_OF_TENANT_MAX = 20

export function createProgressStream({ programmes, clock }: ProgressStreamOptions): ProgressStream {
  const readers = new Map<EventReader, string>()

  function refuseTooMany(tenant: string): void {
    const own = [...readers.values()].filter((each) => each === tenant).length
    if (readers.size < READERS_MAX && own < READERS_OF_TENANT_MAX) return
    throw new Problem('unavailable', 'Too many readers are connected; ask for the progress as JSON.')
  }

  return {
    async open({ author: { tenant }, caller, request }, reply, id) {
      refuseTooMany(tenant)
      await request.recordNow()
      // Others may have come meanwhile.
      refuseTooMany(tenant)
      reply.hijack()
      const reader = createEventReader({
        response: reply.raw,
        requestId: request.id,
        clock,
        endsAtMs: caller.expiresAtMs,
        isStillOpen: () => request.isStillOpen().catch(() => true),
        onEnd: () => readers.delete(reader),
      })
      readers.set(reader, tenant)
      reader.onStop(
        await programmes.follow(tenant, id, (progress) => {
          reader.send(`event: progress\ndata: ${JSON.stringify(progress)}\n\n`)
          if (isOver(progress)) reader.end('service_stopping')
        }),
      )
    },
    close() {
      for (const reader of readers.keys()) reader.end('service_stopping')
    },
  }
}

function isOver({ status }: Progress): boolean {
  return status === 'failed' || status === 'succeeded'
}
