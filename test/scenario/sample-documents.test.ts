import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { Validator } from '@seriousme/openapi-schema-validator'
import { describe, expect, it } from 'vitest'
import { parse } from 'yaml'

interface Operation {
  readonly operationId: string
  readonly security?: readonly Record<string, readonly string[]>[]
}

interface Document {
  readonly info: { readonly title: string; readonly version: string }
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>
  readonly components: {
    readonly securitySchemes: { oauth2: { flows: { clientCredentials: { scopes: Record<string, string> } } } }
  }
}

interface Declaration {
  readonly limits: readonly { readonly operationIds?: readonly string[] }[]
  readonly resourceUnits: { readonly operations: Readonly<Record<string, number>> }
}

const read = (name: string): string => readFileSync(join(import.meta.dirname, '../../src/app/sample', name), 'utf8')
const document = parse(read('payments.openapi.yaml')) as Document
const declaration = parse(read('payments.opensla.yaml')) as Declaration

const operations = Object.values(document.paths)
  .flatMap((methods) => Object.entries(methods))
  .filter(([method]) => ['get', 'post', 'put', 'patch', 'delete'].includes(method))
  .map(([, operation]) => operation)
const names = operations.map(({ operationId }) => operationId)

describe('the documents of the sample', () => {
  it('are valid OpenAPI 3.1', async () => {
    const verdict = await new Validator().validate(read('payments.openapi.yaml'))

    expect(verdict.errors).toBeUndefined()
    expect(verdict.valid).toBe(true)
  })

  it('declare at least ten operations with unique ids', () => {
    expect(names.length).toBeGreaterThanOrEqual(10)
    expect(new Set(names).size).toBe(names.length)
  })

  it('require only declared scopes, and have one public operation', () => {
    const declared = document.components.securitySchemes.oauth2.flows.clientCredentials.scopes
    const asked = operations.flatMap(({ security = [] }) =>
      security.flatMap((alternative) => alternative['oauth2'] ?? []),
    )

    expect(asked.filter((scope) => !(scope in declared))).toEqual([])
    expect(operations.filter(({ security }) => security?.length === 0)).toHaveLength(1)
  })

  it('limit and price only existing operations', () => {
    const limited = declaration.limits.flatMap(({ operationIds = [] }) => operationIds)
    const priced = Object.keys(declaration.resourceUnits.operations)

    expect([...limited, ...priced].filter((name) => !names.includes(name))).toEqual([])
  })
})
