import { expect, it } from 'vitest'
import { toJunit } from '../../../../../src/interfaces/cli/report/junit-report.ts'
import { hostileReport, reportOf } from './hostile-report.ts'

it('a JUnit report is well-formed XML whatever a document quotes', () => {
  const xml = toJunit(hostileReport)
  const open: string[] = []
  // Every `<` begins one of our own tags, and every tag is closed.
  for (const [, isEnd, name = '', attributes = '', isEmpty] of xml.matchAll(
    /<(\/?)([a-z-]+)((?: [a-z]+="[^"<]*")*)(\/?)>/g,
  )) {
    expect(attributes).not.toMatch(/&(?!(?:amp|lt|gt|quot|apos);)/)
    if (isEnd === '/') expect(open.pop()).toBe(name)
    else if (isEmpty !== '/') open.push(name)
  }
  expect(open).toEqual([])
  const ours =
    /<\?xml version="1\.0" encoding="UTF-8"\?>|<\/?(?:testsuites?|testcase|failure|error|skipped|system-out)\b[^<>]*>/g
  expect(xml.replaceAll(ours, '')).not.toMatch(/[<>]/)
})

it('a JUnit report counts its failures, errors and skipped cases', () => {
  expect(toJunit(reportOf('failing finding'))).toContain('tests="2" failures="1" errors="0" skipped="0"')
  expect(toJunit(reportOf('low score'))).toContain('tests="2" failures="1" errors="0" skipped="0"')
  expect(toJunit(reportOf('trouble'))).toContain(
    '<testsuite name="b.yaml" tests="1" failures="0" errors="1" skipped="0">',
  )
})
