import { describe, expect, it } from 'vitest'
import { minimal, read } from './small-specifications.ts'

describe('a document', () => {
  it.each([
    ['71', '71.0.0', 71],
    ['1.2', '1.2.0', 1],
    ['2025.0', '2025.0.0', 2025],
    [71, '71.0.0', 71],
    ['1.4.0-rc.1', '1.4.0-rc.1', 1],
  ])('of version %s has the full version %s', async (declared, version, major) => {
    const specification = await read(minimal({ info: { title: 'Cards', version: declared } }))
    expect(specification).toMatchObject({ version, major, technicalName: `cards-v${major}` })
  })

  it('keeps the text of a version that YAML reads as a number', async () => {
    const yaml = (version: string) =>
      `openapi: 3.0.3\ninfo: {title: Cards, version: ${version}}\npaths: {/a: {get: {responses: {200: {description: ok}}}}}`
    expect(await read(yaml('1.10'))).toMatchObject({ version: '1.10.0' })
    expect(await read(yaml('2025.0'))).toMatchObject({ version: '2025.0.0' })
  })

  it('takes name and version from its extensions if title and version yield none', async () => {
    const stated = { 'x-tollgate-name': 'gift-cards', 'x-tollgate-version': '3.0.1' }
    const info = { title: '\u30ae\u30d5\u30c8', version: '2020-08-27' }
    const expected = { technicalName: 'gift-cards-v3', version: '3.0.1', title: info.title }
    expect(await read(minimal({ info, ...stated }))).toMatchObject(expected)
    expect(await read(minimal({ info: { ...info, ...stated } }))).toMatchObject(expected)
    expect(await read(minimal(stated))).toMatchObject({ technicalName: 'payments-api-v2', version: '2.4.1' })
  })
})
