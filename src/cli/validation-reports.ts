/** Validation results for machines: SARIF 2.1.0 for code hosts, JUnit XML for build servers. */

import { showScore, sentencesOf, type ShownFinding, type ValidationResult } from './validation-result.ts'

const LEVELS = { error: 'error', breaking: 'error', warning: 'warning', info: 'note' } as const

export function toSarif({ findings, breakingChanges }: ValidationResult, file: string): string {
  const rules = new Map(findings.map(({ rule, advice }) => [rule, advice]))
  const place = (startLine: number, startColumn: number) => [
    { physicalLocation: { artifactLocation: { uri: file }, region: { startLine, startColumn } } },
  ]
  const results = [
    ...findings.map((finding) => ({
      ruleId: finding.rule,
      level: LEVELS[finding.severity],
      message: { text: sentencesOf(finding) },
      locations: place(finding.line, finding.column),
      partialFingerprints: { place: `${finding.rule} ${finding.pointer}` },
    })),
    ...breakingChanges.map(({ id, level, message, pointer }) => ({
      ruleId: id,
      level: LEVELS[level],
      message: { text: `${message} (${pointer})` },
      locations: place(1, 1),
      partialFingerprints: { place: `${id} ${pointer}` },
    })),
  ]
  const driver = {
    name: 'tollgate',
    rules: [...rules].map(([id, advice]) => ({ id, help: { text: advice } })),
  }
  const schema = 'https://json.schemastore.org/sarif-2.1.0.json'
  return `${JSON.stringify({ $schema: schema, version: '2.1.0', runs: [{ tool: { driver }, results }] }, null, 2)}\n`
}

/** One test per broken rule, one per breaking change, and one for the minimum score. */
export function toJunit(result: ValidationResult, file: string, minScore: number): string {
  const byRule = Map.groupBy(result.findings, ({ rule }) => rule)
  const cases = [
    testCase('score', result.score >= minScore ? null : `${showScore(result.score)} of 100, asked for ${minScore}`),
    ...[...byRule].map(([rule, findings]) =>
      testCase(rule, findings[0]!.severity === 'error' ? textOf(findings) : null),
    ),
    ...result.breakingChanges
      .filter(({ level }) => level === 'breaking')
      .map(({ id, pointer, message }) => testCase(`${id} ${pointer}`, message)),
  ]
  const failures = cases.filter((text) => text.includes('<failure')).length
  const head = `<testsuite name="${escapeXml(file)}" tests="${cases.length}" failures="${failures}">`
  return `<?xml version="1.0" encoding="UTF-8"?>\n<testsuites>\n${head}\n${cases.join('\n')}\n</testsuite>\n</testsuites>\n`
}

function textOf(findings: readonly ShownFinding[]): string {
  return findings.map((finding) => `${finding.line}:${finding.column} ${sentencesOf(finding)}`).join('\n')
}

function testCase(name: string, failure: string | null): string {
  const open = `  <testcase classname="openapi" name="${escapeXml(name)}"`
  if (failure === null) return `${open}/>`
  return `${open}><failure message="${escapeXml(failure.split('\n', 1)[0] ?? '')}">${escapeXml(failure)}</failure></testcase>`
}

/** XML allows no control characters, not even escaped. */
function escapeXml(text: string): string {
  const entities: Readonly<Record<string, string>> = {
    '&': '&amp;',
    '<': '&lt;',
    '>': '&gt;',
    '"': '&quot;',
    "'": '&apos;',
  }
  return text
    .replace(/[^\t\n\r\u0020-\ud7ff\ue000-\ufffd]/g, '?')
    .replace(/[&<>"']/g, (character) => entities[character] ?? character)
}
