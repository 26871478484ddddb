import { describe, expect, it } from 'vitest'
import { compileServing } from '../../../../../src/documents/governance/serving/compile-route-plan.ts'
import { readSpecification } from '../../../../../src/documents/governance/specification.ts'
import { packDocument, unpackDocument } from '../../../../../src/boundary/plan/packed-plan.ts'
import { compile, faultsOf, get, RESPONSES } from './compiled-plans.ts'

const CORS = 'x-tollgate-cors'
const setting = { origins: ['https://App.example'], headers: ['X-Tenant'], maxAge: 60 }

describe('x-tollgate-cors', () => {
  it('is part of the plan, in the form in which browsers send origins', async () => {
    const plan = await compile(get({}), { [CORS]: setting })
    expect(plan.cors).toEqual({ origins: ['https://app.example'], headers: ['x-tenant'], maxAge: 60 })
    expect((await unpackDocument(packDocument(plan))).cors).toEqual(plan.cors)
    expect((await compile(get({}))).cors).toBeUndefined()
  })

  it.each([
    [true, '/x-tollgate-cors'],
    [{ origins: 'https://app.example' }, '/x-tollgate-cors/origins'],
    [{ origins: ['https://app.example/'] }, '/x-tollgate-cors/origins/0'],
    [{ origins: '*', credentials: true }, '/x-tollgate-cors/credentials'],
  ])('must be valid: %j', async (value, pointer) => {
    const [fault] = await faultsOf(compile(get({}), { [CORS]: value }))
    expect(fault).toMatch(new RegExp(`^${pointer} `))
  })

  it('is ignored in a document that an earlier version accepted, if it is invalid', async () => {
    const document = {
      openapi: '3.1.0',
      info: { title: 'Shop', version: '1.0.0' },
      paths: { '/a': { get: { security: [], responses: RESPONSES } } },
      [CORS]: { origins: '*', credentials: true },
    }
    const specification = await readSpecification(Buffer.from(JSON.stringify(document)))
    expect(compileServing(specification, null).cors).toBeUndefined()
  })
})
