import { describe, expect, it } from 'vitest'
import {
  formatReport,
  REPORT_FORMATS,
  type ReportFormat,
} from '../../../../../src/interfaces/cli/report/format-report.ts'
import { exitCodeOf } from '../../../../../src/interfaces/cli/report/report.ts'
import { finding, hostileReport, HOSTILE, reportOf } from './hostile-report.ts'

const write = (format: ReportFormat, report = hostileReport, quiet = false): string =>
  formatReport(report, { format, colour: false, quiet })

describe('A report of a hostile document', () => {
  it.each(REPORT_FORMATS)('has no control characters as %s', (format) => {
    expect(write(format)).not.toMatch(/[\u0000-\u0008\u000b-\u001f\u007f]/)
  })

  it.each(['text', 'markdown', 'github'] as const)('cannot reverse the direction of text as %s', (format) => {
    expect(write(format === 'github' ? 'text' : format)).not.toContain('\u202e')
  })

  it('keeps its words in JSON', () => {
    const { exitCode, documents } = JSON.parse(write('json')) as {
      exitCode: number
      documents: { findings: object[] }[]
    }
    expect(exitCode).toBe(2)
    expect(documents[0]?.findings[0]).toMatchObject({ message: HOSTILE, isFailure: true })
  })

  it('opens no element, cell, code span or mention in Markdown', () => {
    const markdown = write('markdown')
    expect(markdown).not.toMatch(/[<`]|@t|\*\*b|\[31m/)
    const rows = markdown.split('\n').filter((line) => line.startsWith('|'))
    expect(rows).toHaveLength(7)
    for (const row of rows) expect(row.split('|')).toHaveLength(7)
  })

  it('starts no workflow command of its own on GitHub', () => {
    const lines = write('github').trimEnd().split('\n')
    const commands = lines.filter((line) => /::(?:error|warning|notice)/.test(line))
    for (const line of commands) {
      expect(line).toMatch(/^::(?:error|warning|notice) (?:file=[^:,]*,line=\d+,col=\d+,)?title=[^:,]*::/)
      expect(line).toContain('%250A')
    }
    expect(lines.filter((line) => !commands.includes(line)).some((line) => line.includes('::'))).toBe(false)
  })

  it('stays one line per finding as text', () => {
    const lines = write('text').trimEnd().split('\n')
    expect(lines.filter((line) => line.includes('<script>')).length).toBe(lines.length - 2)
    expect(lines.join('\n')).toContain('1 ignored, 1 known: not listed')
  })
})

describe('Every format', () => {
  const cases = (['good', 'failing finding', 'low score', 'trouble'] as const).map((kind) => ({
    kind,
    code: { good: 0, 'failing finding': 1, 'low score': 1, trouble: 2 }[kind],
  }))

  it.each(cases)('agrees with exit code $code on $kind', ({ kind, code }) => {
    const report = reportOf(kind)
    expect(exitCodeOf(report)).toBe(code)
    const junit = write('junit', report)
    expect(junit.includes('<failure')).toBe(code === 1)
    expect(junit.includes('<error')).toBe(code === 2)
    const { runs } = JSON.parse(write('sarif', report)) as {
      runs: { results: { level: string }[]; invocations: { executionSuccessful: boolean; exitCode: number }[] }[]
    }
    expect(runs[0]!.results.some(({ level }) => level === 'error')).toBe(code === 1)
    expect(runs[0]!.invocations[0]).toMatchObject({ executionSuccessful: code < 2, exitCode: code })
    expect(/^::error /m.test(write('github', report))).toBe(code > 0)
    expect(JSON.parse(write('json', report))).toMatchObject({ exitCode: code })
  })

  it.each(['text', 'markdown'] as const)('names the part that was checked beside the score in %s', (format) => {
    const whole = write(format, reportOf('good'))
    expect(whole).not.toContain('rules checked')
    const headline = write(format)
      .split('\n')
      .find((line) => line.includes('79.9 of 100'))
    expect(headline).toMatch(/rules checked 3 of 9 operations/)
  })

  it('lists only what fails if it is quiet', () => {
    const report = reportOf('failing finding')
    const mixed = {
      ...report,
      documents: [{ ...report.documents[0]!, findings: [finding, { ...finding, rule: 'harmless', isFailure: false }] }],
    }
    for (const format of REPORT_FORMATS) {
      expect(write(format, mixed, true), format).not.toContain('harmless')
      expect(write(format, mixed, false), format).toContain('harmless')
    }
    expect(write('text', reportOf('good'), true)).toBe('')
  })
})
