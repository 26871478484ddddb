/** The documentation and the code name the same things, and prose is wrapped at 100 columns. */

import { existsSync, globSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { PROBLEMS } from '../../src/foundation/domain/problem.ts'
import { RISK_TYPES } from '../../src/foundation/domain/risk.ts'
import { MEMBERS } from '../../src/documents/opensla/limits.ts'
import { SHORT_FORMS } from '../../src/documents/opensla/short-forms.ts'
import { EVENT_TYPES } from '../../src/control/command/event-outbox.ts'

const ROOT = join(import.meta.dirname, '../..')
const read = (path: string): string => readFileSync(join(ROOT, path), 'utf8')
const COLUMNS_MAX = 100

/** Names in backquotes in the first column of the tables of a page. */
function tableNames(page: string): string[] {
  return read(page)
    .split('\n')
    .filter((line) => line.startsWith('| `'))
    .flatMap((line) => [...(line.split('|')[1] ?? '').matchAll(/`([^`]+)`/g)].map(([, name = '']) => name))
}

/** Lines of prose that are too long; code, tables, images and addresses cannot be wrapped. */
function longLines(page: string): string[] {
  let isCode = false
  return read(page)
    .split('\n')
    .flatMap((line, index) => {
      if (line.startsWith('```')) isCode = !isCode
      const isProse = !isCode && !line.startsWith('|') && !line.startsWith('<') && !/^\S*\]?\(?https?:\S+$/.test(line)
      return isProse && line.length > COLUMNS_MAX ? [`${page}:${index + 1}`] : []
    })
}

const withoutCode = (text: string): string => text.replaceAll(/^```[^]*?^```/gm, '')

/** The anchors of the headings of a page, as GitHub names them. */
function headingsOf(page: string): ReadonlySet<string> {
  const anchors = new Set<string>()
  for (const [, heading = ''] of withoutCode(read(page)).matchAll(/^#+ (.+)$/gm)) {
    const anchor = heading
      .replaceAll(/\[([^\]]*)\]\([^)]*\)/g, '$1')
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N}_ -]/gu, '')
      .replaceAll(' ', '-')
    let number = 0
    while (anchors.has(number === 0 ? anchor : `${anchor}-${number}`)) number++
    anchors.add(number === 0 ? anchor : `${anchor}-${number}`)
  }
  return anchors
}

describe('The documentation', () => {
  it('is wrapped at 100 columns', () => {
    const pages = globSync('{*,docs/*,docs/{adr,nodes}/*}.md', { cwd: ROOT }).sort()
    expect(pages.flatMap(longLines)).toEqual([])
  })

  it('names only files that exist', () => {
    const pages = globSync('{*,*/**/}*.md', { cwd: ROOT, exclude: ['node_modules', '**/node_modules'] }).sort()
    expect(pages).toEqual(expect.arrayContaining(['CONTRIBUTING.md', 'docs/architecture.md']))
    const named = pages.flatMap((page) =>
      (read(page).match(/\bsrc\/[\w./-]+\.ts\b/g) ?? []).map((path) => ({ page, path })),
    )
    expect(named.length).toBeGreaterThan(0)
    expect(named.filter(({ path }) => !existsSync(join(ROOT, path)))).toEqual([])
  })

  it('links to pages and headings that exist', () => {
    const pages = globSync('{*,docs/**/*,bench/*,deploy/**/*}.md', { cwd: ROOT })
    const links = pages.flatMap((page) =>
      [...withoutCode(read(page)).matchAll(/\]\((?!\w+:)([^)\s#]*)(?:#([^)\s]+))?\)/g)].map(
        ([, path = '', heading]) => ({ page, to: path === '' ? page : join(dirname(page), path), heading }),
      ),
    )
    expect(links.length).toBeGreaterThan(500)
    const broken = links.filter(
      ({ to, heading }) =>
        !existsSync(join(ROOT, to)) || (heading !== undefined && to.endsWith('.md') && !headingsOf(to).has(heading)),
    )
    expect(broken).toEqual([])
  })

  it('shows every picture, and names only pictures that exist', () => {
    const pages = globSync('{*,docs/*}.md', { cwd: ROOT })
    const named = pages.flatMap((page) =>
      [...read(page).matchAll(/(?:!\[[^\]]*\]\(|<img src=")([^)"]+)/g)].map(([, path = '']) =>
        join(dirname(page), path),
      ),
    )
    const pictures = globSync('docs/**/*.{svg,png}', { cwd: ROOT })
    expect(pictures.length).toBeGreaterThan(0)
    expect([...new Set(named)].toSorted()).toEqual(pictures.toSorted())
  })

  it('shows every member of a definition of limits, and every short form, in an example', () => {
    const page = read('docs/declarations.md')
    expect([...MEMBERS, ...SHORT_FORMS].filter((member) => !new RegExp(`\\b${member}:`).test(page))).toEqual([])
  })

  it('describes every type of risk, and no other', () => {
    expect(
      tableNames('docs/risks.md')
        .filter((name) => /^[A-Z][A-Za-z0-9]+$/.test(name))
        .toSorted(),
    ).toEqual([...RISK_TYPES].toSorted())
  })

  it('describes every type of event, and no other', () => {
    expect(tableNames('docs/webhooks.md').toSorted()).toEqual([...EVENT_TYPES].toSorted())
  })

  it('describes every error code with its status, and no other', () => {
    const rows = read('docs/errors.md').matchAll(/^\| `(\w+)` \| (\d+) \|/gm)
    const described = Object.fromEntries([...rows].map(([, code = '', status]) => [code, Number(status)]))
    expect(described).toEqual(Object.fromEntries(Object.entries(PROBLEMS).map(([code, { status }]) => [code, status])))
  })

  it('names every metric, and no other', () => {
    const sources = globSync('src/**/*.ts', { cwd: ROOT }).map(read).join('\n')
    const defined = [...sources.matchAll(/\.(?:counter|measured)\(\s*'(\w+)'/g)].map(
      ([, name = '']) => `tollgate_${name}`,
    )
    const named = globSync('docs/{,nodes/}*.md', { cwd: ROOT }).flatMap(
      (page) => read(page).match(/\btollgate_[a-z_]+/g) ?? [],
    )
    expect([...new Set(named)].toSorted()).toEqual([...new Set(defined)].toSorted())
  })
})
