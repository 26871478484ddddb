import { describe, expect, it } from 'vitest'
import type { LeaseMessage } from '../../../../../src/boundary/leases/lease-messages.ts'
import { decodeReply } from '../../../../../src/storage/store/redis/lease-codec.ts'

const HELLO: LeaseMessage = { type: 'hello' }
const REQUEST: LeaseMessage = {
  type: 'request',
  node: 'a',
  session: 1,
  sequence: 1,
  epoch: 1,
  notBeforeMs: 0,
  notAfterMs: 1,
  isSynced: true,
  items: [
    {
      key: 'k',
      budget: { kind: 'concurrent', version: 1, value: 1, callMsMax: 1 },
      held: 0,
      used: 0,
      want: 1,
    },
  ],
}

describe('A reply of the lease script', () => {
  it('is decoded', () => {
    expect(decodeReply(['granted', 5, -1, 2, 1], REQUEST)).toEqual({
      type: 'granted',
      nowMs: 5,
      grants: [{ granted: -1, free: 2, isOpen: true }],
      waiting: [],
    })
    expect(decodeReply(['granted', 5, 0, 0, -90_000, 'b', 'a'], REQUEST)).toMatchObject({
      grants: [{ granted: 0, free: 0, isOpen: false, opensInMs: 90_000 }],
      waiting: ['a', 'b'],
    })
    expect(decodeReply(['clock', 5], REQUEST)).toEqual({ type: 'clock', nowMs: 5 })
    expect(decodeReply(['generation', 5, 'run', 3, 4, 0], HELLO)).toEqual({
      type: 'generation',
      nowMs: 5,
      runId: 'run',
      epoch: 3,
      confirmations: 4,
      isOpener: false,
    })
  })

  it.each([
    ['no list', 'OK'],
    ['a reply of another kind', ['other', 1]],
    ['too few grants', ['granted', 1]],
    ['too many grants', ['granted', 1, 1, 1, 1, 1, 1, 1]],
    ['a part of a grant', ['granted', 1, 1]],
    ['a text for a number', ['granted', 1, '1', 1, 1]],
    ['no run id', ['generation', 1, null, 1, 1, 1]],
  ])('is refused if it is %s', (_, reply) => {
    expect(() => decodeReply(reply, REQUEST)).toThrow('the lease script returned')
  })
})
