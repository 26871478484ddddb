import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { hostname } from 'node:os'
import { describe, expect, it, onTestFinished } from 'vitest'
import { lintServable } from '../../../../../src/documents/governance/lint/lint.ts'
import { readOperations } from '../../../../../src/documents/governance/operations.ts'
import { judgeBySpectral } from '../../../../../src/documents/governance/spectral/engine.ts'
import { readSpecification } from '../../../../../src/documents/governance/specification.ts'
import {
  AT,
  findingsOf,
  INFO,
  lintJson,
  operation,
  responding,
  type Json,
} from '../../../../fixtures/spectral-documents.ts'

describe('a hostile document', () => {
  it('has none of its expressions evaluated when its texts appear in a message', async () => {
    const evil = '#{{ concat("hit", "s") }}'
    const { findings } = await lintJson(responding({ type: 'object', required: [evil], enum: [evil] }, { [evil]: 1 }))
    const messages = JSON.stringify(findings.map(({ message }) => message))

    expect(findings.map(({ rule }) => rule)).toContain('typed-enum')
    expect(messages).toContain('#')
    expect(messages).not.toContain('hits')
    const pathed = responding({}, 1, {
      paths: { [`/${evil}`]: { get: operation('a', { 200: { description: 'ok' }, '4XX': { description: 'no' } }) } },
    })
    expect((await lintJson(pathed)).findings.map(({ pointer }) => pointer)).not.toContain('')
  })

  it('has its patterns run on the linear engine when its examples are checked', async () => {
    const text = `${'a'.repeat(40)}!`
    const slow = { type: 'string', pattern: '^(a+)+$' }
    expect(await findingsOf(responding(slow, text))).toEqual([`oas3-valid-media-example warning ${AT}/example`])
    // Each pattern is checked on its own; a pattern that the engine cannot run has no findings.
    const both = {
      type: 'object',
      properties: { a: { pattern: '^a$' }, b: { pattern: '^b$' }, c: { pattern: '(?=x)x' } },
    }
    expect(await findingsOf(responding(both, { a: 'a', b: 'b', c: 'y' }))).toEqual([])
    expect(await findingsOf(responding(both, { a: 'b', b: 'b' }))).toEqual([
      `oas3-valid-media-example warning ${AT}/example/a`,
    ])
  })

  it('does not cause a fetch or a file read, whatever it refers to', async () => {
    let fetches = 0
    const server = createServer((_, response) => {
      fetches++
      response.end('{}')
    })
    await once(server.listen(0, '127.0.0.1'), 'listening')
    onTestFinished(() => void server.close())
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/a.json`
    const evil = [
      { $ref: url },
      { $ref: '/etc/hostname' },
      { $ref: 'file:///etc/hostname' },
      { $ref: './package.json' },
    ]
    const document = responding({ type: 'array', items: {} }, evil, {
      'x-evil': evil,
      info: { ...INFO, 'x-evil': evil },
    })
    // In an example and an extension they are data, and the document reaches Spectral.
    expect((await lintJson(document)).isServable).toBe(true)
    const { findings, coverage } = await judgeBySpectral(document, readOperations(document, []), { rules: {} })

    expect([fetches, coverage.failed]).toEqual([0, []])
    expect(JSON.stringify(findings)).not.toContain(hostname())
  })

  it('is checked as a whole although its references expand to a billion values', async () => {
    const depth = 30
    const link = (at: number): Json => ({ $ref: `#/components/schemas/S${at}` })
    const schemas = Object.fromEntries(
      Array.from({ length: depth }, (_, at) => [
        `S${at}`,
        at === depth - 1 ? { type: 'object' } : { type: 'object', properties: { a: link(at + 1), b: link(at + 1) } },
      ]),
    )
    const plain = { 200: { description: 'ok' }, '4XX': { description: 'no' } }
    const { coverage, findings } = await lintJson(
      responding(link(0), undefined, {
        components: { schemas },
        paths: {
          ...(responding(link(0), undefined)['paths'] as Json),
          '/plain': { get: operation('plain', plain) },
        },
      }),
    )

    expect(coverage).toEqual({ operations: 2, of: 2, failed: [] })
    expect(findings.map(({ rule }) => rule)).not.toContain('rules-in-part')
  })

  it('is checked by the same sample of operations in every run and any order if it is large', async () => {
    const responses = {
      200: {
        description: 'ok',
        content: { 'application/json': { schema: { type: 'string', enum: [...'abcdefghijklmnopqrstuvwxyza'] } } },
      },
      '4XX': { description: 'no' },
    }
    const paths = Array.from({ length: 400 }, (_, at) => [`/p${at}`, { get: operation(`p${at}`, responses) }] as const)
    const ruleset = { rules: {} }
    const lintSome = async (some: typeof paths, folded?: number) => {
      const bytes = Buffer.from(JSON.stringify(responding({}, 1, { paths: Object.fromEntries(some) })))
      const read = await readSpecification(bytes)
      return lintServable(bytes, read, ruleset, folded === undefined ? {} : { budget: { expanded: 5_000, folded } })
    }
    const first = await lintSome(paths, 10_000)
    const reversed = await lintSome(paths.toReversed(), 10_000)

    expect(first.coverage?.of).toBe(400)
    expect(first.coverage?.operations).toBeGreaterThan(50)
    expect(first.coverage?.operations).toBeLessThan(400)
    expect(first.findings.map(({ rule }) => rule)).toContain('rules-in-part')
    expect(reversed.coverage).toEqual(first.coverage)
    expect(reversed.score).toBe(first.score)
    expect((await lintSome(paths)).score).toBeGreaterThan(first.score)
    expect(new Set(reversed.findings.map(({ fingerprint }) => fingerprint))).toEqual(
      new Set(first.findings.map(({ fingerprint }) => fingerprint)),
    )
  })
})
