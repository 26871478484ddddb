/** Explanations of refused calls beside their records in the spool. */

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { ANONYMOUS, type Attribution } from '../../../../src/foundation/domain/attribution.ts'
import { readExplanation, toExplanationText } from '../../../../src/foundation/domain/explanation.ts'
import { outcomeIndex } from '../../../../src/foundation/domain/outcome.ts'
import type { CallRecord } from '../../../../src/storage/spool/call-record.ts'
import { BatchBuffer } from '../../../../src/storage/spool/codec.ts'
import type { RecordBatch } from '../../../../src/storage/spool/record-batch.ts'
import { openSegment } from '../../../../src/storage/spool/segment-file.ts'
import { encodeHeader } from '../../../../src/storage/spool/segment-header.ts'
import { createSpoolGaugeMemory, openSpoolGauge } from '../../../../src/storage/spool/spool-gauge.ts'
import { openSpoolReader } from '../../../../src/storage/spool/spool-reader.ts'
import { createSpoolWriter } from '../../../../src/storage/spool/spool-writer.ts'
import { systemClock } from '../../../../src/foundation/runtime/clock.ts'

const PREFIX = '0123456789abcdef'
const HEADER = encodeHeader({ madeMs: 1, requestPrefix: PREFIX })
const PAY: Attribution = { ...ANONYMOUS, tenant: 'acme', api: 'payments-v1', operation: 'pay' }

/** Two calls, the second refused, in the format before explanations existed. */
const OLD_SEGMENT =
  'VEdTUE9PTDEAAAAAAADwPzAxMjM0NTY3ODlhYmNkZWYAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAFUR0I4AQAANwsg7QIAAACwAAAA' +
  'AAAAAAAAAAABAAAAABCAVv68eEIAAAAA0BJDQQAAAMALWvZBAAAAAAAAHEDcBQAA6AMAAMkAAAEDAAAAAAAAAAIAAAAAIIBW/rx4QgAAAADQEkNB' +
  'AAAAwAta9kEAAAAAAAAcQNwFAADoAwAArQEJAQMAAABbeyJjb25zdW1lciI6IiIsImNvbnN1bWVyTmFtZSI6IiIsInN1YnNjcmlwdGlvbiI6IiIs' +
  'ImFnZW50IjoiIiwicGVyc29uIjoiIiwidmFyaWFudCI6IiIsImN1cnJlbmN5IjoiIiwicHJpY2VNaWNybyI6MCwidGVuYW50IjoiYWNtZSIsImFw' +
  'aSI6InBheW1lbnRzLXYxIiwib3BlcmF0aW9uIjoicGF5In1dICAgIA=='

function record(sequence: number, outcome: 'served' | 'rate_limited' = 'rate_limited'): CallRecord {
  return {
    attribution: PAY,
    timeMs: 1_700_000_000_000 + sequence,
    durationUs: 1_500,
    upstreamUs: 1_000,
    admittedAgoMs: 3,
    status: outcome === 'served' ? 201 : 429,
    outcome: outcomeIndex[outcome],
    flags: 1,
    unitsMicro: 2_500_000,
    requestBytes: 6_000_000_000,
    responseBytes: 7,
    sequence,
  }
}

function makeFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'explanations-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  return folder
}

/** Returns sequence and explanation, or another text, of every record of a segment. */
function readAll(
  bytes: Buffer,
  textOf = (batch: RecordBatch, index: number): string => batch.explanation(index),
): [number, string][] {
  const path = join(makeFolder(), 'segment')
  writeFileSync(path, bytes)
  const file = openSegment(path, 1)
  const found: [number, string][] = []
  file.read(0, Infinity, Infinity, (batch) => {
    for (let index = 0; index < batch.count; index++) found.push([batch.at(index).sequence, textOf(batch, index)])
  })
  file.close()
  return found
}

describe('the spool', () => {
  it('reads batches that were written before explanations existed', () => {
    expect(readAll(Buffer.from(OLD_SEGMENT, 'base64'))).toEqual([
      [1, ''],
      [2, ''],
    ])
  })

  it('returns every explanation with its own record, over batches with and without explanations', () => {
    const buffer = new BatchBuffer(100)
    const chunks: Buffer[] = [HEADER]
    const expected: [number, string][] = []
    for (let batch = 0; batch < 6; batch++) {
      for (let sequence = batch * 100; sequence < batch * 100 + 50; sequence++) {
        buffer.add(record(sequence), 0)
        const text = batch % 2 === 0 && sequence % 3 === 0 ? `why ${sequence % 9} "Ö"` : ''
        if (text !== '') expect(buffer.explain(text)).toBe(true)
        expected.push([sequence, text])
      }
      chunks.push(Buffer.from(buffer.seal(batch === 0 ? [PAY] : [], batch === 0 ? 0 : 1)))
    }
    expect(readAll(Buffer.concat(chunks))).toEqual(expected)
  })

  it('writes an explanation that many calls of a batch share once, which costs 8 bytes per call', () => {
    const buffer = new BatchBuffer(1_000)
    const sizeOf = (isExplained: boolean): number => {
      for (let sequence = 0; sequence < 1_000; sequence++) {
        buffer.add(record(sequence), 0)
        if (isExplained) buffer.explain('x'.repeat(500))
      }
      return buffer.seal([], 1).length
    }
    expect(sizeOf(true) - sizeOf(false)).toBeLessThan(8_600)
  })

  it('drops and counts explanations that do not fit into a batch, and writes their records', () => {
    const folder = makeFolder()
    const gauge = openSpoolGauge(createSpoolGaugeMemory(), 2 ** 30)
    let dropped = 0
    const options = {
      folder: join(folder, 'gateway-0'),
      requestPrefix: PREFIX,
      sync: 'never',
      gauge,
      clock: systemClock,
      onGrowth() {},
      onFailure(cause: unknown) {
        throw cause
      },
    } as const
    const writer = createSpoolWriter({ ...options, explanations: { onDropped: () => void dropped++ } })
    for (let sequence = 0; sequence < 2_000; sequence++) {
      const explanation = { detail: `${sequence} ${'x'.repeat(250)}` }
      writer.append({ ...record(sequence), explanation, onSafe() {}, onRefused() {} })
    }
    writer.close()
    const reader = openSpoolReader({ folder, gauge, onTornTail() {}, onDamage() {} })
    const texts: string[] = []
    reader.read({}, (batch) => {
      for (let index = 0; index < batch.count; index++) texts.push(batch.explanation(index))
    })
    reader.close()
    expect(texts).toHaveLength(2_000)
    expect(texts.filter((text) => text === '').length).toBe(dropped)
    expect(dropped).toBeGreaterThan(0)
    expect(dropped).toBeLessThan(1_500)
  })
})

describe('a trace', () => {
  it('is stored beside its record, apart from the explanation, which versions without traces read as before', () => {
    const buffer = new BatchBuffer(10)
    for (let sequence = 0; sequence < 4; sequence++) {
      buffer.add(record(sequence), 0)
      if (sequence % 2 === 0) buffer.explain('why')
      if (sequence > 1) buffer.trace(`trace ${sequence}`)
    }
    const bytes = Buffer.concat([HEADER, buffer.seal([PAY], 0)])
    // A number of a record is all that a version without traces asks for.
    expect(readAll(bytes)).toEqual([
      [0, 'why'],
      [1, ''],
      [2, 'why'],
      [3, ''],
    ])
    expect(readAll(bytes, (batch, index) => batch.trace(index)).map(([, text]) => text)).toEqual([
      '',
      '',
      'trace 2',
      'trace 3',
    ])
  })

  it('has room of its own, which is bounded, and is empty again with the next batch', () => {
    const buffer = new BatchBuffer(10_000)
    const fill = (): number => {
      let stored = 0
      for (let sequence = 0; sequence < 10_000; sequence++) {
        buffer.add(record(sequence), 0)
        if (buffer.trace(String(sequence).padStart(1_024, 'x'))) stored++
      }
      expect(buffer.explain('why')).toBe(true)
      return stored
    }
    expect(fill()).toBe(1_024)
    expect(buffer.seal([], 1).length).toBeLessThan(10_000 * 56 + 1_100_000)
    expect(fill()).toBe(1_024)
    buffer.clear()
    expect(fill()).toBe(1_024)
  })
})

describe('an explanation', () => {
  const limit = {
    name: 'all minute',
    kind: 'total',
    limit: 5,
    used: 5,
    remaining: 0,
    window: 'minute',
    opensAt: '2027-01-15T12:01:00.000Z',
  } as const

  it('is decoded to the value that was encoded', () => {
    const explanation = {
      stage: 'limit',
      detail: 'It is full.',
      errors: [{ pointer: '/a/0', detail: 'no' }],
      limit,
    } as const
    expect(readExplanation(toExplanationText(explanation))).toEqual(explanation)
    expect(readExplanation(toExplanationText({ detail: 'Why.' }))).toEqual({ detail: 'Why.' })
  })

  it('is short, and hides names of members that may be data', () => {
    const errors = Array.from({ length: 20 }, () => ({
      pointer: '/users/ada@example.com/age',
      detail: 'x'.repeat(900),
    }))
    const text = toExplanationText({ detail: 'y'.repeat(900), errors })
    expect(text.length).toBeLessThan(1_500)
    expect(readExplanation(text)?.errors?.[0]?.pointer).toBe('/users/*/age')
    expect(toExplanationText({ detail: '', errors: [{ pointer: '/4111111111111111', detail: '' }] })).not.toContain(
      '4111',
    )
  })

  it.each(['', 'no JSON', '1', 'null', '[]', '{}', '{"detail":1}'])('is none if %j is stored', (text) => {
    expect(readExplanation(text)).toBeNull()
  })

  it('omits malformed members', () => {
    const text = JSON.stringify({ detail: 'd', stage: 'nowhere', errors: [1, { pointer: 2 }], limit: { name: 'x' } })
    expect(readExplanation(text)).toEqual({ detail: 'd', errors: [] })
  })
})
