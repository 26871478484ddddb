import { describe, expect, it } from 'vitest'
import { publishApi } from '../../../fixtures/published-api.ts'
import { openTestPlatform } from '../../../fixtures/test-platform.ts'

describe('a decision', () => {
  it('on the caller’s own request is forbidden and raises a risk', async () => {
    const platform = await openTestPlatform()
    const token = platform.token('acme')
    const { waiting, flow } = await publishApi(platform, token)
    const path = `/v1/subscriptions/${waiting}/approvalFlows/${flow}/approvals`
    const answer = await platform.send('POST', path, { token, body: { outcome: 'Approved' } })
    expect(answer).toMatchObject({ status: 403, body: { code: 'operation_forbidden' } })
    expect(platform.selfApprovals).toEqual(['con_acme'])
  })

  it.each([
    [{ outcome: 'Maybe' }, '/outcome'],
    [{}, '/outcome'],
    [{ outcome: 'Approved', comments: '' }, '/comments'],
    [{ outcome: 'Approved', comments: 'x'.repeat(20_001) }, '/comments'],
    [{ outcome: 'Approved', approver: 'con_boss' }, '/approver'],
  ])('%j is refused with a pointer', async (body, pointer) => {
    const platform = await openTestPlatform()
    const token = platform.token('acme')
    const { waiting, flow } = await publishApi(platform, token)
    const path = `/v1/subscriptions/${waiting}/approvalFlows/${flow}/approvals`
    const answer = await platform.send('POST', path, { token, body })
    expect(answer).toMatchObject({ status: 400, body: { errors: [{ pointer }] } })
  })
})

describe('a change of tier', () => {
  it.each([
    [{}, '/slaVariant'],
    [{ slaVariant: 'none' }, '/slaVariant'],
    [{ slaVariant: '' }, '/slaVariant'],
    [{ slaVariant: null }, '/slaVariant'],
    [{ slaVariant: 'gold', reason: '' }, '/reason'],
    [{ slaVariant: 'gold', scopes: [] }, '/scopes'],
  ])('%j is refused with a pointer', async (body, pointer) => {
    const platform = await openTestPlatform()
    const token = platform.token('acme')
    const { subscription } = await publishApi(platform, token)
    const answer = await platform.send('POST', `/v1/subscriptions/${subscription}/tierChanges`, { token, body })
    expect(answer).toMatchObject({ status: 400, body: { errors: [{ pointer }] } })
  })
})

describe('the deprecation and retirement of an API', () => {
  it.each([
    [{}, '/retirementDate'],
    [{ retirementDate: 'tomorrow' }, '/retirementDate'],
    [{ retirementDate: '2020-01-01T00:00:00Z' }, '/retirementDate'],
    [{ retirementDate: '2099-01-01T00:00:00Z', successor: 'none-v2' }, '/successor'],
    [{ retirementDate: '2099-01-01T00:00:00Z', force: true }, '/force'],
  ])('with %j is refused with a pointer', async (body, pointer) => {
    const platform = await openTestPlatform()
    const token = platform.token('acme')
    await publishApi(platform, token)
    const answer = await platform.send('POST', '/v1/apis/payments-v1/deprecate', { token, body })
    expect(answer).toMatchObject({ status: 400, body: { errors: [{ pointer }] } })
  })

  it('lists the active subscriptions that prevent it', async () => {
    const platform = await openTestPlatform()
    const token = platform.token('acme')
    const { subscription } = await publishApi(platform, token)
    const input = { retirementDate: '2099-01-01T00:00:00Z' }
    const deprecated = await platform.send('POST', '/v1/apis/payments-v1/deprecate', { token, body: input })
    expect(deprecated).toMatchObject({ status: 200, body: { state: 'Deprecated' } })
    const refused = await platform.send('POST', '/v1/apis/payments-v1/retire', { token })
    expect(refused).toMatchObject({
      status: 409,
      body: { code: 'subscriptions_active', subscriptions: [subscription] },
    })
    const forced = await platform.send('POST', '/v1/apis/payments-v1/retire', { token, body: { force: true } })
    expect(forced).toMatchObject({ status: 200, body: { state: 'Retired' } })
  })
})

const NAUGHTY = [
  'undefined',
  'null',
  'NaN',
  '0',
  '-1',
  'true',
  '[]',
  '{}',
  '$ref',
  '__proto__',
  'constructor',
  'hasOwnProperty',
  "Robert'); DROP TABLE document;--",
  '<script>alert(1)</script>',
  '"><img src=x onerror=alert(1)>',
  '{{7*7}}',
  '${7*7}',
  '%s%n',
  '../../etc/passwd',
  'C:\\Windows',
  'a/b/c',
  'a%2Fb',
  '=1+1',
  '@SUM(1)',
  '+cmd',
  '-2',
  ' leading',
  'trailing ',
  '  ',
  'Ω≈ç√∫˜µ≤≥÷',
  '田中さんにあげて下さい',
  '𠜎𠜱𠝹',
  '表ポあA鷗ŒéＢ逍Üßªąñ丂',
  '👩🏽‍💻👨‍👩‍👧‍👦🏳️‍🌈',
  'ﷺ',
  'הָיְתָהtestالصفحات التّحول',
  '\u202eevil\u202c',
  '\u200b\u200czero\u2060width',
  'Z̮̞̠͙͔ͅḀ̗̞͈̻̗Ḷ͙͎̯̹̞͓G̻O̭̗̮',
  'ǅ',
  'ı',
  'ß',
  'e\u0301',
  '\u00a0',
  '\ufeff',
  '\u2028',
  'x'.repeat(128),
].filter((name) => name.trim() !== '')

it('the platform API accepts unusual names and returns them unchanged', async () => {
  const platform = await openTestPlatform()
  const token = platform.token('acme')
  for (const name of NAUGHTY) {
    const made = await platform.send('POST', '/v1/consumers', { token, body: { name, kind: 'application' } })
    expect(made.status, JSON.stringify(name)).toBe(201)
    const { body } = await platform.send('GET', `/v1/consumers/${String(made.body['id'])}`, { token })
    expect(body['name']).toBe(name)
  }
})
