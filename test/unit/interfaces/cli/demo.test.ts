import { describe, expect, it } from 'vitest'
import { drawLine, drawScreen } from '../../../../src/interfaces/cli/demo-screen.ts'
import { createTally, type RiskNews } from '../../../../src/interfaces/cli/demo-tally.ts'
import { outcomeOf, type DemoView } from '../../../../src/interfaces/cli/demo-view.ts'
import { readDemoSettings } from '../../../../src/interfaces/cli/demo-settings.ts'
import { createEventParser, type ServerSentEvent } from '../../../../src/interfaces/cli/event-stream.ts'

const FACTS = { secondsMax: 60, gatewayUrl: 'http://127.0.0.1:8080', trouble: '' }
const PLAIN = { columns: 100, colour: false }

const news = (more: Partial<RiskNews> = {}): RiskNews => ({
  riskId: 'rsk_1',
  phase: 'opened',
  severity: 'Info',
  type: 'RateLimitBreach',
  operation: 'createPayout',
  count: 1,
  attributedTo: { kind: 'consumer', id: 'cns_1', name: 'shop' },
  ...more,
})

function filled(): DemoView {
  const tally = createTally(0)
  for (let ms = 0; ms < 10_000; ms += 100) tally.called('served', ms)
  tally.called('over a limit', 9_500)
  tally.billed([{ name: 'shop', calls: 100, units: 12_345, amount: '24.69', currency: 'EUR' }])
  tally.heard(news())
  tally.heard(news({ riskId: 'rsk_2', severity: 'Critical', type: 'ProtectionViolation' }))
  return tally.view(10_000, FACTS)
}

describe('the tally of the demo', () => {
  it('counts every call and shows the rate of the last seconds', () => {
    expect(filled().outcomes).toEqual([
      { outcome: 'served', total: 100, perSecond: 10 },
      { outcome: 'over a limit', total: 1, perSecond: 0.2 },
    ])
  })

  it('has one row per episode, the worst first, and removes it when it clears', () => {
    const tally = createTally(0)
    tally.heard(news())
    tally.heard(news({ riskId: 'rsk_2', severity: 'Critical' }))
    tally.heard(news({ phase: 'escalated', severity: 'Warning', count: 12 }))
    expect(tally.view(0, FACTS).risks.map(({ severity, count }) => [severity, count])).toEqual([
      ['Critical', 1],
      ['Warning', 12],
    ])

    tally.heard(news({ riskId: 'rsk_2', phase: 'cleared' }))
    expect(tally.view(0, FACTS)).toMatchObject({ events: 4, risks: [{ severity: 'Warning' }] })
  })

  it('classifies outcomes by status', () => {
    expect([200, 201, 400, 401, 402, 403, 404, 429, 503].map(outcomeOf)).toEqual([
      'served',
      'served',
      'invalid',
      'unauthenticated',
      'quota used up',
      'forbidden',
      'other refusal',
      'over a limit',
      'failed',
    ])
  })
})

describe('the screen of the demo', () => {
  it('shows the same text with and without colour', () => {
    const coloured = drawScreen(filled(), { ...PLAIN, colour: true }).join('\n')
    expect(coloured).toContain('\x1b[')
    expect(coloured.replace(/\x1b\[\d+m/g, '')).toBe(drawScreen(filled(), PLAIN).join('\n'))
  })

  it('shows calls, customers and risks', () => {
    const text = drawScreen(filled(), PLAIN).join('\n')
    expect(text).toMatch(/served +10\.0 +100/)
    expect(text).toMatch(/shop +12,345 +100 +24\.69 EUR/)
    expect(text).toMatch(/Critical +ProtectionViolation +shop +createPayout +1 in the window/)
    expect(drawLine(filled())).toBe(
      '00:10  served 100, over a limit 1; 12,345 units; 2 open risks, worst Critical ProtectionViolation by shop',
    )
  })

  it('never sends a control character of a name to the terminal, and stays within its columns', () => {
    const view = { ...filled(), customers: [{ name: 'a\x1b[2Jb', calls: 1, units: 1, amount: '0', currency: 'EUR' }] }
    const lines = drawScreen(view, { columns: 40, colour: false })

    expect(lines.join('')).not.toContain('\x1b')
    expect(Math.max(...lines.map((line) => line.length))).toBeLessThanOrEqual(40)
  })
})

describe('the event stream', () => {
  it('parses complete events for any chunking of the text', () => {
    const text = ': keep\n\nid: 1\nevent: risk\ndata: {"a":\ndata: 1}\n\nid: 2\r\ndata: x\r\n\r\n'
    for (let cut = 1; cut < text.length; cut++) {
      const seen: ServerSentEvent[] = []
      const parse = createEventParser((event) => seen.push(event))
      parse(text.slice(0, cut))
      parse(text.slice(cut))
      expect(seen, `cut at ${cut}`).toEqual([
        { id: '1', event: 'risk', data: '{"a":\n1}' },
        { id: '2', event: 'message', data: 'x' },
      ])
    }
  })

  it('throws for a line and for an event without an end', () => {
    const parse = (text: string) => createEventParser(() => {})(text)
    expect(() => parse(`data: ${'x'.repeat(2_000_000)}`)).toThrow('an event without an end')
    expect(() => parse('data: x\n'.repeat(1_000_000))).toThrow('an event without an end')
  })
})

describe('the settings of the demo', () => {
  it('start a service unless both addresses and the credential are given', () => {
    expect(readDemoSettings([], {})).toEqual({ seconds: 60, service: null })
    expect(readDemoSettings(['--seconds', '0'], {})).toContain('--seconds takes')
    expect(readDemoSettings(['--gateway-url', 'http://a'], {})).toContain('A running service needs')
    expect(readDemoSettings(['--what'], {})).toContain('--what')
    expect(
      readDemoSettings(['--gateway-url', 'http://a', '--base-url', 'http://b'], {
        ADMIN_CLIENT_ID: 'id',
        ADMIN_CLIENT_SECRET: 'secret',
      }),
    ).toMatchObject({ service: { gatewayUrl: 'http://a', clientId: 'id' } })
  })
})
