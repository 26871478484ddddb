/**
 * The one place that maps a kind of limit to its behaviour; a kind without a case does not compile.
 *
 * Functions that run on every call dispatch by `switch`: V8 then inlines each case, which it does not do for a call through a table
 * of three functions.
 */

import type { Calendar } from '../foundation/domain/calendar.ts'
import type { LimitKind, LimitRule } from '../foundation/domain/limit-rule.ts'
import type { LimitUse } from '../boundary/plan/limit-book.ts'
import type { LimitPlan, Validity } from '../boundary/plan/sla-plan.ts'
import type { CompiledLimit } from './compiled-sla.ts'
import { CONCURRENT } from './concurrent-limit.ts'
import type { DecisionContext } from './decision-context.ts'
import type { CompiledRule, CounterLayout, LimitBehaviour, UsageContext } from './limit-behaviour.ts'
import type { Block, BlockRef } from './limit-block.ts'
import { RATE } from './rate-limit.ts'
import { TOTAL } from './total-limit.ts'

const BEHAVIOURS: { readonly [K in LimitKind]: LimitBehaviour<K> } = {
  rate: RATE,
  total: TOTAL,
  concurrent: CONCURRENT,
}

export function counterLayoutOf(kind: LimitKind): CounterLayout {
  return BEHAVIOURS[kind]
}

export function reopensWithTime(kind: LimitKind): boolean {
  return BEHAVIOURS[kind].reopensWithTime
}

export function warnsOncePerWindow(kind: LimitKind): boolean {
  return BEHAVIOURS[kind].warnsOncePerWindow
}

export function compileRule(rule: LimitRule, validity: readonly Validity[]): CompiledRule {
  switch (rule.kind) {
    case 'rate':
      return RATE.compile(rule, validity)
    case 'total':
      return TOTAL.compile(rule, validity)
    case 'concurrent':
      return CONCURRENT.compile(rule, validity)
    default:
      return rule satisfies never
  }
}

export function useOf(
  limit: CompiledLimit,
  index: number,
  block: Block,
  nowMs: number,
  context: DecisionContext,
): number {
  switch (limit.kind) {
    case 'rate':
      return RATE.use(limit, index, block, nowMs, context)
    case 'total':
      return TOTAL.use(limit, index, block, nowMs, context)
    case 'concurrent':
      return CONCURRENT.use(limit, index, block, nowMs, context)
    default:
      return limit satisfies never
  }
}

export function waitMsOf(limit: CompiledLimit, use: number, nowMs: number, calendar: Calendar): number {
  switch (limit.kind) {
    case 'rate':
      return RATE.waitMs(limit, use, nowMs, calendar)
    case 'total':
      return TOTAL.waitMs(limit, use, nowMs, calendar)
    case 'concurrent':
      return CONCURRENT.waitMs(limit, use, nowMs, calendar)
    default:
      return limit satisfies never
  }
}

export function resetMsOf(limit: CompiledLimit, use: number, nowMs: number, calendar: Calendar): number {
  switch (limit.kind) {
    case 'rate':
      return RATE.resetMs(limit, use, nowMs, calendar)
    case 'total':
      return TOTAL.resetMs(limit, use, nowMs, calendar)
    case 'concurrent':
      return CONCURRENT.resetMs(limit, use, nowMs, calendar)
    default:
      return limit satisfies never
  }
}

export function commit(
  limit: CompiledLimit,
  index: number,
  after: number,
  block: Block,
  nowMs: number,
  context: DecisionContext,
): void {
  switch (limit.kind) {
    case 'rate':
      return RATE.commit(limit, index, after, block, nowMs, context)
    case 'total':
      return TOTAL.commit(limit, index, after, block, nowMs, context)
    case 'concurrent':
      return CONCURRENT.commit(limit, index, after, block, nowMs, context)
    default:
      limit satisfies never
  }
}

export function replay(limit: CompiledLimit, doubles: Float64Array, atMs: number, calendar: Calendar): void {
  switch (limit.kind) {
    case 'rate':
      return RATE.replay(limit, doubles, atMs, calendar)
    case 'total':
      return TOTAL.replay(limit, doubles, atMs, calendar)
    case 'concurrent':
      return CONCURRENT.replay(limit, doubles, atMs, calendar)
    default:
      limit satisfies never
  }
}

export function usageOf(
  { rule, validity }: LimitPlan,
  offset: number,
  ref: BlockRef,
  doubles: Float64Array,
  nowMs: number,
  context: UsageContext,
): LimitUse {
  switch (rule.kind) {
    case 'rate':
      return RATE.usage(rule, validity, offset, ref, doubles, nowMs, context)
    case 'total':
      return TOTAL.usage(rule, validity, offset, ref, doubles, nowMs, context)
    case 'concurrent':
      return CONCURRENT.usage(rule, validity, offset, ref, doubles, nowMs, context)
    default:
      return rule satisfies never
  }
}
