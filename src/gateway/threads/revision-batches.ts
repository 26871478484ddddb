/**
 * Sends stored revisions to a starting thread in batches, a few at a time: the thread unpacks one while the next is packed.
 *
 * A command must be acknowledged in time, so it does not carry more documents than are compiled in a few seconds.
 */

import { packedBytes } from '../../boundary/plan/packed-plan.ts'
import type { StoredRevision } from '../messages/messages.ts'

const BATCH_BYTES = 256 * 1024
const BATCH_MAX = 200
const BATCHES_AT_ONCE = 3

type Batch = readonly StoredRevision[]

/** Resolves when all batches are acknowledged; rejects with the first failure. */
export async function sendInBatches(
  revisions: Iterable<StoredRevision>,
  send: (batch: Batch) => Promise<void>,
): Promise<void> {
  const sending: Promise<void>[] = []
  for (const batch of toBatches(revisions)) {
    const sent = send(batch)
    // A failure is thrown when its turn comes.
    sent.catch(() => {})
    sending.push(sent)
    if (sending.length >= BATCHES_AT_ONCE) await sending.shift()
  }
  await Promise.all(sending)
}

function* toBatches(revisions: Iterable<StoredRevision>): Iterable<Batch> {
  let batch: StoredRevision[] = []
  let bytes = 0
  for (const revision of revisions) {
    batch.push(revision)
    bytes += packedBytes(revision.plan)
    if (bytes < BATCH_BYTES && batch.length < BATCH_MAX) continue
    yield batch
    batch = []
    bytes = 0
  }
  if (batch.length > 0) yield batch
}
