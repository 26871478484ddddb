import { describe, expect, it } from 'vitest'
import { readConfig } from '../../../../src/app/config.ts'
import { DEFAULT_RISK_RULES } from '../../../../src/pipeline/risk/risk-rules.ts'
import { withThresholds } from '../../../../src/pipeline/risk/risk-thresholds.ts'

describe('The setting RISK_THRESHOLDS', () => {
  it('changes only the thresholds that it names', () => {
    const rules = withThresholds(
      DEFAULT_RISK_RULES,
      '{"AuthFailure401":{"criticalFrom":20},"RateLimitBreach":{"windowSeconds":30}}',
    )

    expect(rules).toEqual({
      ...DEFAULT_RISK_RULES,
      AuthFailure401: { ...DEFAULT_RISK_RULES.AuthFailure401, criticalFrom: 20 },
      RateLimitBreach: { ...DEFAULT_RISK_RULES.RateLimitBreach, windowSeconds: 30 },
    })
  })

  it.each([
    ['no', 'the value is not JSON'],
    ['[]', 'the value is not an object'],
    ['{"AuthFailure402":{}}', 'AuthFailure402 has no thresholds'],
    ['{"constructor":{}}', 'constructor has no thresholds'],
    ['{"ProtectionViolation":{"criticalFrom":5}}', 'ProtectionViolation has no thresholds'],
    ['{"AuthFailure401":5}', 'AuthFailure401 is not an object'],
    [
      '{"AuthFailure401":{"critical":5}}',
      'AuthFailure401.critical is not a threshold, only warningFrom, criticalFrom, windowSeconds are',
    ],
    ['{"AuthFailure401":{"warningFrom":1}}', 'AuthFailure401.warningFrom is not a whole number from 2 up'],
    [
      '{"AuthFailure401":{"criticalFrom":2}}',
      'AuthFailure401.criticalFrom is not a whole number from warningFrom (3) up',
    ],
    ['{"AuthFailure401":{"windowSeconds":301}}', 'AuthFailure401.windowSeconds is not a whole number from 1 to 300'],
    ['{"AuthFailure401":{"windowSeconds":"60"}}', 'AuthFailure401.windowSeconds is not a whole number from 1 to 300'],
  ])('refuses %s', (json, why) => {
    expect(withThresholds(DEFAULT_RISK_RULES, json)).toBe(why)
  })

  it('is applied by readConfig, which names the error of a refused value', () => {
    const { riskRules } = readConfig([], { RISK_THRESHOLDS: '{"AuthFailure403":{"warningFrom":5}}' })
    expect(riskRules.AuthFailure403.warningFrom).toBe(5)
    expect(() => readConfig([], { RISK_THRESHOLDS: '{"AuthFailure403":{"warningFrom":11}}' })).toThrow(
      'RISK_THRESHOLDS takes thresholds by type of risk as JSON (AuthFailure403.criticalFrom is not a whole number from warningFrom (11) up)',
    )
  })
})
