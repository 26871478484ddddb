/** Commands for programmes, policies, rulesets, decision records and principles. */

import type { ResourceGroup } from './resource-command.ts'

export const PROGRAMMES: ResourceGroup = {
  name: 'programmes',
  commands: [
    {
      name: 'list',
      operation: 'listProgrammes',
      call: 'GET /v1/programmes',
      summary: 'Lists programmes',
      filters: 'api state label',
      columns: 'id name api status score createdAt',
    },
    { name: 'get', operation: 'getProgramme', call: 'GET /v1/programmes/{id}', summary: 'Shows a programme' },
    {
      name: 'submit',
      operation: 'createProgramme',
      call: 'POST /v1/programmes',
      summary: 'Submits a document: from validation to a running API in eight steps',
      fields: 'name specification:file openSla:file backend:address labels:map',
    },
    {
      name: 'update',
      operation: 'updateProgramme',
      call: 'PUT /v1/programmes/{id}',
      summary: 'Submits a new minor version',
      fields: 'specification:file',
    },
    {
      name: 'label',
      operation: 'labelProgramme',
      call: 'PATCH /v1/programmes/{id}',
      summary: 'Replaces the labels of a programme',
      fields: 'labels:map',
    },
    {
      name: 'retry',
      operation: 'retryProgramme',
      call: 'POST /v1/programmes/{id}/retry',
      summary: 'Resumes a programme at its failed step',
    },
    {
      name: 'progress',
      operation: 'getProgress',
      call: 'GET /v1/programmes/{id}/progress',
      summary: 'Shows the steps of a programme',
    },
    {
      name: 'compliance',
      operation: 'getCompliance',
      call: 'GET /v1/programmes/{id}/compliance',
      summary: 'Shows the compliance score of a programme',
    },
    {
      name: 'decisions',
      operation: 'listProgrammeApprovals',
      call: 'GET /v1/programmes/{id}/approvalFlows/{flowId}/approvals',
      summary: 'Lists the decisions on a programme',
      columns: 'time approver outcome comments',
    },
    {
      name: 'decide',
      operation: 'decideOnProgramme',
      call: 'POST /v1/programmes/{id}/approvalFlows/{flowId}/approvals',
      summary: 'Decides on a programme',
      fields: 'outcome comments',
    },
    {
      name: 'validate',
      operation: 'validateSpecification',
      call: 'POST /v1/programmes/validate',
      summary: 'Judges a document without publishing it',
      fields: 'specification:file previous:file',
    },
  ],
  examples: [
    [
      'tollgate programmes submit --name Orders --specification openapi.yaml --backend http://10.0.0.7:3000',
      'submits a document',
    ],
    ['tollgate programmes watch prg_…', 'shows the steps while they run'],
  ],
}

export const POLICY: ResourceGroup = {
  name: 'policy',
  commands: [
    {
      name: 'get',
      operation: 'getTenantPolicy',
      call: 'GET /v1/policy',
      summary: 'Shows the policy of the organisation',
    },
    {
      name: 'set',
      operation: 'updateTenantPolicy',
      call: 'PATCH /v1/policy',
      summary: 'Changes the policy of the organisation; what is left out stays as it is',
      isUnchanged: true,
      fields: 'approval:json ruleset secondFactor',
    },
  ],
  examples: [
    [
      'tollgate policy get -o yaml > policy.yaml; tollgate policy set --input policy.yaml',
      'edits the policy in a file',
    ],
  ],
}

export const RULESETS: ResourceGroup = {
  name: 'rulesets',
  commands: [
    {
      name: 'list',
      operation: 'listRulesets',
      call: 'GET /v1/rulesets',
      summary: 'Lists rulesets',
      filters: 'label',
      columns: 'id description createdAt',
    },
    { name: 'get', operation: 'getRuleset', call: 'GET /v1/rulesets/{id}', summary: 'Shows a ruleset' },
    {
      name: 'create',
      operation: 'createRuleset',
      call: 'POST /v1/rulesets',
      summary: 'Creates a ruleset',
      fields: 'extends:json formats:list aliases:json description documentationUrl rules:json labels:map',
    },
    {
      name: 'update',
      operation: 'updateRuleset',
      call: 'PATCH /v1/rulesets/{id}',
      summary: 'Changes fields of a ruleset',
      fields: 'extends:json formats:list aliases:json description documentationUrl rules:json labels:map',
    },
    { name: 'remove', operation: 'removeRuleset', call: 'DELETE /v1/rulesets/{id}', summary: 'Removes a ruleset' },
  ],
  examples: [['tollgate rulesets create --input ruleset.yaml', 'creates a ruleset from a file']],
}

export const ADRS: ResourceGroup = {
  name: 'adrs',
  commands: [
    {
      name: 'list',
      operation: 'listAdrs',
      call: 'GET /v1/adrs',
      summary: 'Lists architecture decision records',
      filters: 'api label',
      columns: 'id title status api createdAt',
    },
    { name: 'get', operation: 'getAdr', call: 'GET /v1/adrs/{id}', summary: 'Shows a decision record' },
    {
      name: 'create',
      operation: 'createAdr',
      call: 'POST /v1/adrs',
      summary: 'Creates a decision record',
      fields: 'title status context decision consequences api labels:map',
    },
    {
      name: 'update',
      operation: 'updateAdr',
      call: 'PATCH /v1/adrs/{id}',
      summary: 'Changes fields of a decision record',
      fields: 'title status context decision consequences api labels:map',
    },
    { name: 'remove', operation: 'removeAdr', call: 'DELETE /v1/adrs/{id}', summary: 'Removes a decision record' },
  ],
  examples: [['tollgate adrs create --input adr.yaml', 'creates a record from a file']],
}

export const PRINCIPLES: ResourceGroup = {
  name: 'principles',
  commands: [
    {
      name: 'list',
      operation: 'listPrinciples',
      call: 'GET /v1/principles',
      summary: 'Lists principles',
      filters: 'label',
      columns: 'id name statement rules',
    },
    { name: 'get', operation: 'getPrinciple', call: 'GET /v1/principles/{id}', summary: 'Shows a principle' },
    {
      name: 'create',
      operation: 'createPrinciple',
      call: 'POST /v1/principles',
      summary: 'Creates a principle',
      fields: 'name statement rationale rules:list labels:map',
    },
    {
      name: 'update',
      operation: 'updatePrinciple',
      call: 'PATCH /v1/principles/{id}',
      summary: 'Changes fields of a principle',
      fields: 'name statement rationale rules:list labels:map',
    },
    {
      name: 'remove',
      operation: 'removePrinciple',
      call: 'DELETE /v1/principles/{id}',
      summary: 'Removes a principle',
    },
  ],
  examples: [['tollgate principles list', 'lists the principles of the organisation']],
}
