/** Translates the replies of the lease script. */

import type { LeaseGrant, LeaseMessage, LeaseReply } from '../../../boundary/leases/lease-messages.ts'

const GRANT_SIZE = 3

/** Throws if the reply is not one of the script to `message`. */
export function decodeReply(reply: unknown, message: LeaseMessage): LeaseReply {
  if (!Array.isArray(reply)) throw new TypeError('the lease script returned no list')
  const [type, nowMs] = reply as unknown[]
  if (type === 'generation') return decodeGeneration(reply)
  if (type === 'clock' || type === 'stale') return { type, nowMs: toNumber(nowMs) }
  if (type !== 'granted' || message.type !== 'request')
    throw new TypeError('the lease script returned an unknown reply')
  const end = 2 + GRANT_SIZE * message.items.length
  if (reply.length < end) throw new TypeError('the lease script returned another number of grants')
  return {
    type,
    nowMs: toNumber(nowMs),
    grants: decodeGrants(reply.slice(2, end)),
    waiting: decodeNames(reply.slice(end)),
  }
}

function decodeGeneration([, nowMs, runId, epoch, confirmations, isOpener]: readonly unknown[]): LeaseReply {
  if (typeof runId !== 'string') throw new TypeError('the lease script returned no run id')
  return {
    type: 'generation',
    nowMs: toNumber(nowMs),
    runId,
    epoch: toNumber(epoch),
    confirmations: toNumber(confirmations),
    isOpener: toNumber(isOpener) === 1,
  }
}

function decodeGrants(numbers: readonly unknown[]): readonly LeaseGrant[] {
  const grants: LeaseGrant[] = []
  for (let at = 0; at < numbers.length; at += GRANT_SIZE) {
    const [granted, free, opens] = numbers.slice(at, at + GRANT_SIZE).map(toNumber) as [number, number, number]
    grants.push({ granted, free, isOpen: opens === 1, ...(opens < 0 && { opensInMs: -opens }) })
  }
  return grants
}

function decodeNames(names: readonly unknown[]): readonly string[] {
  if (!names.every((name) => typeof name === 'string'))
    throw new TypeError('the lease script returned another number of grants')
  return names.toSorted()
}

function toNumber(value: unknown): number {
  if (typeof value !== 'number' || !Number.isSafeInteger(value)) {
    throw new TypeError('the lease script returned no whole number')
  }
  return value
}
