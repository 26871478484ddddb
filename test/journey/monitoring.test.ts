/** `promtool` accepts what `deploy/` has for Prometheus. */

// @module-tag promtool

import { spawnSync } from 'node:child_process'
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'

const DEPLOY = join(import.meta.dirname, '../../deploy')
const RULE_TESTS = join(import.meta.dirname, '../fixtures/prometheus-rules-test.yml')
const folder = mkdtempSync(join(tmpdir(), 'tollgate-promtool-'))

afterAll(() => rmSync(folder, { recursive: true }))

function promtool(...args: readonly string[]): { readonly status: number | null; readonly output: string } {
  const { status, stdout, stderr } = spawnSync('promtool', args, { encoding: 'utf8', timeout: 60_000 })
  return { status, output: stdout + stderr }
}

/** Returns a file of rules with one rule for each query of the dashboard, with the variables that Grafana fills in. */
function writeQueries(extra: readonly string[] = []): string {
  const { panels } = JSON.parse(readFileSync(join(DEPLOY, 'grafana/dashboards/tollgate.json'), 'utf8')) as {
    readonly panels: readonly { readonly targets: readonly { readonly expr: string }[] }[]
  }
  const queries = panels.flatMap(({ targets }) => targets.map(({ expr }) => expr))
  const filled = queries.map((expr) =>
    expr.replaceAll('$__rate_interval', '1m').replaceAll(/\$(?:api|instance)/g, '.*'),
  )
  const rules = [...filled, ...extra].map((expr, index) => ({ record: `query_${index}`, expr }))
  const file = join(folder, 'queries.json')
  writeFileSync(file, JSON.stringify({ groups: [{ name: 'dashboard', rules }] }))
  return file
}

describe('promtool (needs the package prometheus of Debian)', () => {
  it('accepts the settings of Prometheus and the alerts', () => {
    expect(promtool('check', 'config', join(DEPLOY, 'prometheus.yml'))).toMatchObject({ status: 0 })
  })

  it('finds that the alerts fire, also at the first increment of a counter, and end', () => {
    const tests = join(folder, 'tests.yml')
    cpSync(join(DEPLOY, 'prometheus-rules.yml'), join(folder, 'prometheus-rules.yml'))
    cpSync(RULE_TESTS, tests)
    expect(promtool('test', 'rules', tests)).toMatchObject({ status: 0 })
  })

  it('parses every query of the dashboard', () => {
    expect(promtool('check', 'rules', writeQueries())).toMatchObject({ status: 0 })
    expect(promtool('check', 'rules', writeQueries(['sum(rate(x[1m])'])).status).not.toBe(0)
  })
})
