import unittest

from waitstate import WaitstateError

try:
    import boto3

    from waitstate.aws import iam_auth
except ImportError as missing:
    raise unittest.SkipTest(f"boto3 is not installed: {missing}") from missing

URL = "https://abc.execute-api.eu-central-1.amazonaws.com/api/runs/~a~2Fb/lease"


class Signatures(unittest.TestCase):
    def test_a_request_is_signed_for_the_api_with_its_body(self) -> None:
        session = boto3.Session("AKIDEXAMPLE", "secret", "token", region_name="eu-central-1")
        sign = iam_auth(session=session)
        headers = {name.lower(): value for name, value in sign("POST", URL, b"{}").items()}
        self.assertRegex(
            headers["authorization"], r"Credential=AKIDEXAMPLE/\d{8}/eu-central-1/execute-api/aws4_request"
        )
        self.assertIn("SignedHeaders=host;x-amz-date;x-amz-security-token", headers["authorization"])
        self.assertEqual(headers["x-amz-security-token"], "token")
        other = {name.lower(): value for name, value in sign("POST", URL, b'{"a":1}').items()}
        self.assertNotEqual(headers["authorization"], other["authorization"])

    def test_a_missing_region_is_named(self) -> None:
        session = boto3.Session("AKIDEXAMPLE", "secret", region_name="eu-central-1")
        self.assertEqual(len(iam_auth("us-east-1", session)("GET", URL, b"")), 2)

        class Empty:
            region_name = None

            def get_credentials(self) -> None:
                return None

        with self.assertRaisesRegex(WaitstateError, "Expected AWS credentials to sign requests"):
            iam_auth(session=Empty())("GET", URL, b"")


if __name__ == "__main__":
    unittest.main()
