import { describe, expect, it } from 'vitest'
import { createLog } from '../../../../src/foundation/runtime/log.ts'
import { createLogTap } from '../../../../src/foundation/runtime/log-tap.ts'
import { OWN_COMPONENT, toLogRecord } from '../../../../src/pipeline/telemetry/log-records.ts'
import { createOrigin } from '../../../../src/pipeline/telemetry/origin.ts'

const ORIGIN = createOrigin({ version: '1', node: 'a', resource: {} })
const read = (line: string) => toLogRecord(line, ORIGIN, 5_000)

function linesOf(write: (log: ReturnType<typeof createLog>) => void): string[] {
  const lines: string[] = []
  const tap = createLogTap()
  write(createLog('debug', { destination: { write() {} }, limit: { limit: (_, pass) => pass(0), sweep() {} }, tap }))
  tap.connect((line) => lines.push(line))
  return lines
}

describe('A line of the log', () => {
  it('is a log record with severity, time, message and fields', () => {
    const [line = ''] = linesOf((log) => log.warn({ api: 'a-v1', thread: 2, is: true, list: [1] }, 'it is full'))
    const record = read(line)
    expect(record).toMatchObject({
      severityText: 'WARN',
      severityNumber: 13,
      body: 'it is full',
      attributes: { api: 'a-v1', thread: 2, is: true, list: '[1]' },
    })
    expect(record?.hrTime[0]).toBe(Math.floor(Date.parse((JSON.parse(line) as { time: string }).time) / 1_000))
  })

  it('names an error by the conventions', () => {
    const [line = ''] = linesOf((log) => log.error({ err: new TypeError('no') }, 'it failed'))
    expect(read(line)?.attributes).toMatchObject({
      'exception.type': 'TypeError',
      'exception.message': 'no',
      'exception.stacktrace': expect.stringContaining('TypeError: no') as string,
    })
  })

  it('has secrets replaced, as on stderr', () => {
    const [line = ''] = linesOf((log) =>
      log.info({ password: 'marker-1', headers: { authorization: 'marker-2' } }, 'x'),
    )
    expect(JSON.stringify(read(line))).not.toContain('marker')
  })

  it('about the export is left out', () => {
    const lines = linesOf((log) => log.child({ component: OWN_COMPONENT }).warn({ signal: 'logs' }, 'it is away'))
    expect(lines.map(read)).toEqual([null])
  })

  it.each(['', 'no JSON', '1', 'null', '"text"'])('that is %j is left out', (line) => {
    expect(read(line)).toBeNull()
  })

  it('with fields of any form is a record, and long texts are cut', () => {
    const record = read('{"level":7,"time":"when","msg":{"a":1},"err":"text","x":null,"constructor":"y"}')
    expect(record).toMatchObject({ severityNumber: 0, body: '{"a":1}', hrTime: [5, 0] })
    expect(record?.attributes).toEqual({ 'exception.message': 'text', constructor: 'y' })
    expect(read(JSON.stringify({ level: 'info', msg: 'x'.repeat(100_000) }))?.body).toHaveLength(8_192)
  })
})
