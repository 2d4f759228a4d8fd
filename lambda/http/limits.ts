/** Maximum size of a request body. */
export const MAX_BODY_BYTES = 1024 * 1024;
/** Maximum size of a request body that decides an approval. */
export const MAX_DECISION_BYTES = 100 * 1024;
/** Maximum size of a request body that decides several approvals: 50 long ids, and a comment. */
export const MAX_DECIDE_ALL_BYTES = 256 * 1024;
/** Maximum length of a URL. API Gateway accepts at most 10 KB of request line and headers. */
export const MAX_URL_CHARACTERS = 9 * 1024;
/** Size to which a document in a response is truncated, unless the request asks for another. */
export const DEFAULT_DOCUMENT_BYTES = 256 * 1024;
/** The largest size that a request can ask for. */
export const MAX_DOCUMENT_BYTES = 2 * 1024 * 1024;
/** Size to which each document in a list is truncated. */
export const LISTED_DOCUMENT_BYTES = 8 * 1024;
/**
 * Maximum size of a response of Lambda, in which the body is a JSON string.
 * https://docs.aws.amazon.com/lambda/latest/dg/gettingstarted-limits.html
 */
export const MAX_LAMBDA_RESPONSE_BYTES = 6 * 1024 * 1024;
/** Maximum size of a JSON body, with the escapes that it has in a response of Lambda; the rest is for headers. */
export const MAX_JSON_BYTES = 5 * 1024 * 1024;
/** Maximum size of a payload in a response: in base64 it must stay below the 6 MB limit of Lambda. */
export const MAX_INLINE_PAYLOAD_BYTES = 4 * 1024 * 1024;
/** How long a response may take: less than API Gateway waits. */
export const RESPONSE_TIMEOUT_SECONDS = 25;
/** Maximum size of the content of a run in a response without a bucket: even if all of it were quotes, it would fit. */
export const MAX_CONTENT_BYTES = MAX_JSON_BYTES / 2 - 16 * 1024;
