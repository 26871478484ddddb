/** Streams the progress of a programme as Server-Sent Events, until the programme ends. */

import type { FastifyReply } from 'fastify'
import type { Progress } from '../programmes/programme-document.ts'
import type { Programmes } from '../programmes/programmes.ts'
import type { Caller } from '../plan/caller.ts'
import type { Clock } from '../runtime/clock.ts'
import type { Log } from '../runtime/log.ts'
import { createEventReaders } from './event-readers.ts'
import type { Call } from './operation.ts'

export interface ProgressStream {
  /** Takes the reply over; throws `Problem('unavailable')` if too many streams are open. */
  open(call: Call, reply: FastifyReply, id: string): Promise<void>
  close(): void
  /** Ends the streams of the callers that `isOver` selects. */
  endOf(isOver: (caller: Caller) => boolean): void
}

export interface ProgressStreamOptions {
  readonly programmes: Pick<Programmes, 'follow'>
  readonly clock: Clock
  readonly log: Log
}

const READERS_MAX = 200
const READERS_OF_TENANT_MAX = 20

export function createProgressStream({ programmes, clock, log }: ProgressStreamOptions): ProgressStream {
  const readers = createEventReaders({
    clock,
    max: READERS_MAX,
    ofTenantMax: READERS_OF_TENANT_MAX,
    refusal: 'Too many progress streams are open. Request the progress as JSON instead.',
    onUnknown: (cause, requestId) =>
      log.error(
        { err: cause, requestId },
        'credential of a progress stream could not be checked; the stream stays open, retrying at the next heartbeat',
      ),
  })

  return {
    async open(call, reply, id) {
      const { author, request } = call
      const reader = await readers.open(call, reply)
      try {
        reader.onStop(
          await programmes.follow(author.tenant, id, (progress) => {
            reader.send(`event: progress\ndata: ${JSON.stringify(progress)}\n\n`)
            if (isOver(progress)) reader.end('done')
          }),
        )
      } catch (cause) {
        const failed = reader.end('resume_failed')
        if (failed)
          log.warn(
            { err: cause, requestId: request.id },
            'progress of a programme could not be read; its stream is closed',
          )
      }
    },
    endOf: readers.endOf,
    close: readers.close,
  }
}

function isOver({ status }: Progress): boolean {
  return status === 'failed' || status === 'succeeded'
}
