import { expect, it } from 'vitest'
import { createDeclaredPlans } from '../../../../src/control/publishing/declared-plans.ts'
import { ACME, base64, declaration, openTestCatalogue, publishApi } from '../../../fixtures/test-catalogue.ts'

const API = 'orders-v1'

async function setUp() {
  const catalogue = openTestCatalogue()
  await publishApi(catalogue)
  const plans = createDeclaredPlans(catalogue)
  const check = (text: string | Buffer, tenant = 'acme') =>
    plans.check(tenant, { api: API, specification: base64(Buffer.from(text)) })
  return { catalogue, plans, check }
}

it('A declaration that can be used is answered with its plan and warnings, and is not published', async () => {
  const { catalogue, check } = await setUp()
  const { plan, findings } = await check(`${declaration({ perMinute: 7 }).toString()}\nlimit: 4\n`)
  expect(plan?.limits).toMatchObject([{ value: 7 }])
  expect(findings).toMatchObject([{ severity: 'warning', pointer: '/limit', line: expect.any(Number) as number }])
  expect((await catalogue.specifications.openSlas('acme', { limit: 9 })).items).toEqual([])
})

it('A declaration with faults is answered with each of them at its line, and with no plan', async () => {
  const { check } = await setUp()
  const faulty = await check(
    'opensla: 1.0.0\nlimits:\n  - name: a\n    concurrent: lots\n  - name: b\n    totals: { day: -1 }\n',
  )
  expect(faulty).toMatchObject({
    plan: null,
    findings: [
      { severity: 'error', line: 4 },
      { severity: 'error', line: 6 },
    ],
  })
  expect(await check('a: [')).toMatchObject({ plan: null, findings: [{ severity: 'error' }] })
  expect(await check(Buffer.from([0xff, 0xfe]))).toMatchObject({ plan: null, findings: [{ severity: 'error' }] })
})

it('A document with a fault in every line is answered with 100 of them', async () => {
  const { check } = await setUp()
  const operations = Array.from({ length: 2_000 }, (_, n) => `    none${n}: 1`).join('\n')
  const { findings } = await check(`opensla: 1.0.0\nresourceUnits:\n  operations:\n${operations}\n`)
  expect(findings).toHaveLength(100)
})

it('The API of another tenant does not exist, nor does its declaration', async () => {
  const { catalogue, plans, check } = await setUp()
  await expect(check(declaration(), 'rival')).rejects.toMatchObject({ errors: [{ pointer: '/api' }] })
  const input = { api: API, specification: base64(declaration({ perMinute: 7 })) }
  const { id } = await catalogue.specifications.createOpenSla(ACME, input)
  await expect(plans.of('rival', id)).rejects.toMatchObject({ code: 'not_found' })
  expect(await plans.of('acme', id)).toMatchObject({ api: API, limits: [{ value: 7 }] })
})
