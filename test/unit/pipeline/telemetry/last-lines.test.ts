/** Which lines of the log a collector gets before the process ends. */

import { createServer } from 'node:net'
import { describe, expect, it, onTestFinished } from 'vitest'
import { createLog } from '../../../../src/foundation/runtime/log.ts'
import { createLogTap } from '../../../../src/foundation/runtime/log-tap.ts'
import { systemClock } from '../../../../src/foundation/runtime/clock.ts'
import { readTelemetry } from '../../../../src/pipeline/telemetry/telemetry-settings.ts'
import { exportLogs } from '../../../../src/pipeline/telemetry/export-logs.ts'
import { sendLastLines } from '../../../../src/pipeline/telemetry/last-lines.ts'
import { createOrigin } from '../../../../src/pipeline/telemetry/origin.ts'
import { createFakeClock } from '../../../fixtures/fake-clock.ts'
import { createCollector } from '../../../fixtures/otlp-collector.ts'
import { listen } from '../../../fixtures/test-backend.ts'

const SECRET = 'marker-of-a-secret'

interface LogRequest {
  readonly resourceLogs: readonly {
    readonly resource: { readonly attributes: readonly { readonly key: string; readonly value: object }[] }
    readonly scopeLogs: readonly {
      readonly logRecords: readonly { readonly severityText: string; readonly body: { readonly stringValue: string } }[]
    }[]
  }[]
}

async function open(environment: Readonly<Record<string, string>> = {}) {
  const collector = await createCollector()
  onTestFinished(() => collector.close())
  const settings = {
    OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
    OTEL_EXPORTER_OTLP_PROTOCOL: 'http/json',
    OTEL_SERVICE_NAME: 'shop',
    ...environment,
  }
  const config = readTelemetry(settings, []).telemetry!
  const logTap = createLogTap()
  const errors: string[] = []
  const log = createLog('info', { tap: logTap, destination: { write: (line) => void errors.push(line) } })
  const own = { clock: systemClock, log, logTap, version: '1.2.3', node: 'a' }
  const lines = (): readonly string[] =>
    (collector.json('logs') as unknown as readonly LogRequest[]).flatMap(({ resourceLogs }) =>
      resourceLogs.flatMap(({ scopeLogs }) =>
        scopeLogs.flatMap(({ logRecords }) =>
          logRecords.map(({ severityText, body }) => `${severityText} ${body.stringValue}`),
        ),
      ),
    )
  return { collector, config, log, errors, lines, send: () => sendLastLines({ ...own, config }), own }
}

describe('The last lines of the log', () => {
  it('are all lines of a process whose export never began', async () => {
    const { collector, log, lines, send } = await open()
    log.warn('a warning of the start')
    log.fatal({ err: new Error('out of luck'), password: SECRET }, 'the service could not start')
    await send()
    expect(lines()).toEqual(['WARN a warning of the start', 'FATAL the service could not start'])
    expect(collector.text()).toContain('out of luck')
    expect(collector.text()).toMatch(/"service.name".{1,40}shop/)
    expect(collector.text()).not.toContain(SECRET)
  })

  it('are those after the end of an export, each line once', async () => {
    const { config, log, lines, send, own } = await open()
    log.info('before')
    const origin = createOrigin({ ...own, resource: {} })
    const counters = { exported() {}, dropped() {} }
    const exporter = exportLogs({ ...own, origin, counters, userAgent: 'test' }, config.logs!, own.logTap)
    log.info('during')
    await exporter.stop(2_000)
    expect(lines()).toEqual(['INFO before', 'INFO during'])
    log.fatal('the service could not start')
    await send()
    expect(lines()).toEqual(['INFO before', 'INFO during', 'FATAL the service could not start'])
  })

  it('are not sent if logs are not exported', async () => {
    const { collector, log, send } = await open({ OTEL_LOGS_EXPORTER: 'none' })
    log.fatal('the service could not start')
    await send()
    expect(collector.received).toEqual([])
  })

  it.each([429, 500, 503])('are given up at once if the collector answers %s', async (status) => {
    const { collector, log, errors, send } = await open()
    collector.answer = (response) => void response.writeHead(status, { 'retry-after': '3600' }).end()
    log.fatal('the service could not start')
    await send()
    expect(collector.received).toHaveLength(1)
    expect(errors.at(-1)).toContain('the collector does not accept telemetry')
  })

  it('are given up after two seconds if the collector does not answer', async () => {
    const silent = createServer(() => {})
    const port = await listen(silent)
    onTestFinished(() => void silent.close())
    const { log, own, config } = await open({ OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${port}` })
    const clock = createFakeClock(Date.now())
    log.fatal('the service could not start')
    const sent = sendLastLines({ ...own, config, clock })
    await clock.advance(1_999)
    expect(clock.pending).toBeGreaterThan(0)
    await clock.advance(1)
    await sent
    expect(clock.pending).toBe(0)
  })

  it('are given up if no one listens at the address', async () => {
    const { collector, log, errors, send } = await open()
    await collector.close()
    log.fatal('the service could not start')
    await send()
    expect(errors.join('')).toContain('the collector does not accept telemetry')
  })
})
