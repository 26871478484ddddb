/** Streams the progress of a programme as Server-Sent Events, until the programme ends. */

import type { FastifyReply } from 'fastify'
import type { Progress } from '../../control/programmes/programme-document.ts'
import type { Programmes } from '../../control/programmes/programmes.ts'
import type { Clock } from '../../foundation/runtime/clock.ts'
import type { Log } from '../../foundation/runtime/log.ts'
import { createEventReaders, type EventReaders } from './event-readers.ts'
import type { Call } from './operation.ts'

export interface ProgressStream extends Pick<EventReaders, 'close' | 'endOf'> {
  /** Takes the reply over; throws `Problem('unavailable')` if too many streams are open. */
  open(call: Call, reply: FastifyReply, id: string): Promise<void>
}

export interface ProgressStreamOptions {
  readonly programmes: Pick<Programmes, 'follow'>
  readonly clock: Clock
  readonly log: Log
}

const READERS_MAX = 200
const READERS_OF_TENANT_MAX = 20
/** Windows of a person. */
const READERS_OF_PERSON_MAX = 5

export function createProgressStream({ programmes, clock, log }: ProgressStreamOptions): ProgressStream {
  const readers = createEventReaders({
    name: 'progress',
    clock,
    log,
    max: READERS_MAX,
    ofTenantMax: READERS_OF_TENANT_MAX,
    ofPersonMax: READERS_OF_PERSON_MAX,
    instead: 'Request the progress as JSON instead.',
  })

  return {
    open: (call, reply, id) =>
      readers.open(call, reply, (reader) =>
        programmes.follow(call.author.tenant, id, (progress) => {
          reader.send(`event: progress\ndata: ${JSON.stringify(progress)}\n\n`)
          if (isOver(progress)) reader.end('done')
        }),
      ),
    endOf: readers.endOf,
    close: readers.close,
  }
}

function isOver({ status }: Progress): boolean {
  return status === 'failed' || status === 'succeeded'
}
