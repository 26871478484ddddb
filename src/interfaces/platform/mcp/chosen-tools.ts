/**
 * The operations that are tools of their own, with names and descriptions for a model. A model reads all of them at every
 * conversation, so only what an agent does often is here; the other operations are found by search.
 */

export interface ChosenTool {
  readonly operationId: string
  readonly title: string
  readonly description: string
}

/** By the name of the tool, in the order of `tools/list`. */
export const CHOSEN_TOOLS: Readonly<Record<string, ChosenTool>> = {
  search_catalogue: {
    operationId: 'listApis',
    title: 'Search the catalogue of APIs',
    description:
      'Lists the APIs of the organisation with title, version, state, owner and compliance score. `id` is the technical name ' +
      '(`orders-v1`) that other tools expect as `api`. Filter by `state` or by labels (`team:payments`); a page has at most ' +
      '`limit` items, and `next` is the `cursor` of the following page.',
  },
  get_api: {
    operationId: 'getApi',
    title: 'Look up an API',
    description:
      'Returns one API by its technical name: state, version, compliance score, retirement date and successor.',
  },
  find_specifications: {
    operationId: 'listOpenApiSpecs',
    title: 'Find OpenAPI documents',
    description:
      'Lists the OpenAPI documents of an API, one for each published version. Read one with read_specification and its `id`.',
  },
  read_specification: {
    operationId: 'getOpenApiContent',
    title: 'Read an OpenAPI document',
    description: 'Returns an OpenAPI document as published, by the `id` of find_specifications.',
  },
  explain_call: {
    operationId: 'getRequest',
    title: 'Explain why a call was refused',
    description:
      'Explains one call of the last 7 days by the value of its `X-Request-Id` response header: which stage refused it, the ' +
      'reason in a sentence, the validation errors with pointers, and the state of the limit. A call appears some seconds ' +
      'after it has ended. If no such call is stored, the answer says why.',
  },
  find_calls: {
    operationId: 'listRequests',
    title: 'Find single calls',
    description:
      'Lists single calls, newest first, to find the `requestId` for explain_call. Narrow the result by `api`, `customer` (the ' +
      'id of a consumer), `outcome` (such as rate_limited or operation_forbidden), `from` and `to`. Depending on the settings ' +
      'of the service, only refused calls are stored.',
  },
  current_risks: {
    operationId: 'listRisks',
    title: 'List current risks',
    description:
      'Lists risks: unusual or harmful behaviour of callers and backends, with severity, type and the party they are ' +
      'attributed to. Use `state`, `severity` (the minimum), `category`, `type`, `api` or `attributedTo` to narrow the list.',
  },
  explain_risk: {
    operationId: 'getRisk',
    title: 'Explain a risk',
    description:
      'Returns one risk with its events, oldest first: how it began, grew and ended, with counts, reasons and the ids of calls ' +
      'that show it (see explain_call).',
  },
  usage_totals: {
    operationId: 'listSummaries',
    title: 'Total the usage and its cost',
    description:
      'Totals calls, resource units and cost. `groupBy` takes one or more of api, customer, operation, subscription, agent and ' +
      'revision (of one `api`), separated by commas: use `customer` for usage by consumer. Default range: the last 30 days. Add `interval` for a series.',
  },
  usage_items: {
    operationId: 'listLineItems',
    title: 'List single items of usage',
    description:
      'Lists usage in windows of 10 seconds, oldest first, as it is billed. Prefer usage_totals for questions about amounts.',
  },
  list_consumers: {
    operationId: 'listConsumers',
    title: 'List consumers',
    description: 'Lists the applications and agents that call APIs, with the ids that usage and risks refer to.',
  },
  list_subscriptions: {
    operationId: 'listSubscriptions',
    title: 'List subscriptions',
    description: 'Lists who may call which API. Narrow the list by `consumer`, `ApiId`, `ApiProductId` or `state`.',
  },
  get_subscription: {
    operationId: 'getSubscription',
    title: 'Look up a subscription',
    description: 'Returns one subscription: its consumer, API or product, state, scopes, tier and expiry.',
  },
  remaining_allowance: {
    operationId: 'listOperations',
    title: 'Show what a subscription may still call',
    description:
      'Lists the operations that a subscription may call, each with its limits, its cost in resource units and what remains at ' +
      'the moment. Use it before many calls, and to explain rate_limited or quota_exhausted.',
  },
  request_access: {
    operationId: 'createSubscription',
    title: 'Request access to an API',
    description:
      'Subscribes a consumer to an API or a product. Depending on the policy it is active at once, or waits for an approval. ' +
      'Its credentials are read with call_operation and listCredentials; show them only to the person who asked.',
  },
  find_declarations: {
    operationId: 'listOpenSlaSpecs',
    title: 'Find service-level declarations',
    description:
      'Lists the OpenSLA declarations of an API: limits, prices and promises, for each variant. One is in force.',
  },
  read_declaration: {
    operationId: 'getOpenSlaContent',
    title: 'Read a service-level declaration',
    description: 'Returns an OpenSLA declaration as published, by the `id` of find_declarations.',
  },
  propose_declaration: {
    operationId: 'createOpenSlaSpec',
    title: 'Publish a service-level declaration',
    description:
      'Publishes an OpenSLA declaration (limits, resource units, prices) for an API. It takes effect at once, also for existing ' +
      'subscriptions, and replaces the declaration in force of the same variant. Show the text to the person first. The answer ' +
      'has `warnings` about members without an effect.',
  },
  service_level: {
    operationId: 'getServiceLevel',
    title: 'Measure the service level of an API',
    description: 'Returns measured availability and latency of an API next to what its declarations promise.',
  },
  check_document: {
    operationId: 'validateSpecification',
    title: 'Check an OpenAPI document',
    description:
      'Lints an OpenAPI document by the rules of the organisation without storing it: score, findings with locations, security, ' +
      'recommendations, and the breaking changes against `previous`. Use it before submit_programme.',
  },
  api_compliance: {
    operationId: 'getApiCompliance',
    title: 'Show how well an API complies',
    description: 'Returns the compliance of the document and of the running implementation of an API, with drifts.',
  },
  submit_programme: {
    operationId: 'createProgramme',
    title: 'Submit a programme',
    description:
      'Takes an OpenAPI document (and an OpenSLA declaration) through validation, compliance, recommendations and approval to a ' +
      'running API. It continues by itself; follow it with programme_progress.',
  },
  list_programmes: {
    operationId: 'listProgrammes',
    title: 'List programmes',
    description: 'Lists programmes with their status, score and API.',
  },
  programme_progress: {
    operationId: 'getProgress',
    title: 'Show the progress of a programme',
    description: 'Returns the steps of a programme: which are done, which one runs or failed, and why.',
  },
  decide_programme: {
    operationId: 'decideOnProgramme',
    title: 'Decide on a programme',
    description:
      'Approves, rejects or returns a programme of another person. Decide only if the person you work for has said what to do.',
  },
  list_approvals: {
    operationId: 'listWaitingFlows',
    title: 'List what waits for approval',
    description:
      'Lists the approval flows of subscriptions that wait for a decision, with the ids for decide_approval.',
  },
  decide_approval: {
    operationId: 'decide',
    title: 'Decide on a request for access',
    description:
      'Approves, rejects or returns the request of another person for a subscription or a tier. It takes effect at once. Decide ' +
      'only if the person you work for has said what to do.',
  },
  who_am_i: {
    operationId: 'getMe',
    title: 'Show who is signed in',
    description: 'Returns the account of the person in whose name you act, with the roles.',
  },
}
