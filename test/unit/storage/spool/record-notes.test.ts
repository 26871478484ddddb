/** Traces beside the records of a spool that fills. */

import { describe, expect, it } from 'vitest'
import { ANONYMOUS, type Attribution } from '../../../../src/foundation/domain/attribution.ts'
import { CallTrace, readTraceText } from '../../../../src/storage/spool/call-trace.ts'
import { addNotes } from '../../../../src/storage/spool/record-notes.ts'
import { createSpoolGaugeMemory, openSpoolGauge } from '../../../../src/storage/spool/spool-gauge.ts'

const STRANGER: Attribution = { ...ANONYMOUS, tenant: 'acme', api: 'a-v1', operation: '' }
const PATH = `/a-v1/${'b'.repeat(1_000)}`
const SPOOL_BYTES = 1_048_576

function openNotes() {
  const gauge = openSpoolGauge(createSpoolGaugeMemory(), SPOOL_BYTES)
  const stored: string[] = []
  let dropped = 0
  const batch = { explain: () => true, trace: (text: string) => stored.push(text) > 0 }
  const trace = Object.assign(new CallTrace('4bf92f3577b34da6a3ce929d0e0e4736', '', 1, ''), {
    method: 'GET',
    path: PATH,
    scheme: 'http',
    protocol: '1.1',
  })
  const add = (attribution = STRANGER): void =>
    addNotes(batch, { attribution, trace }, { gauge, traces: { onDropped: () => void dropped++ } })
  return { gauge, add, paths: () => stored.map((text) => readTraceText(text)?.path), dropped: () => dropped }
}

describe('The trace of a call', () => {
  it('is short if the call belongs to no subscription', () => {
    const { add, paths } = openNotes()
    add()
    add({ ...STRANGER, subscription: 'sub_1' })
    expect(paths()).toEqual([PATH.slice(0, 64), PATH])
  })

  it('is dropped and counted while the spool is more than half full', () => {
    const { gauge, add, paths, dropped } = openNotes()
    gauge.add(SPOOL_BYTES / 2)
    add()
    expect([paths().length, dropped()]).toEqual([1, 0])
    gauge.add(4_096)
    add()
    add({ ...STRANGER, subscription: 'sub_1' })
    expect([paths().length, dropped()]).toEqual([1, 2])
    gauge.add(-4_096)
    add()
    expect([paths().length, dropped()]).toEqual([2, 2])
  })
})
